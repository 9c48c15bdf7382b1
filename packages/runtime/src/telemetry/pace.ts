/**
 * Which of many calls are recorded: all of them while they are few, every so manieth while they are more, evenly spaced.
 * An SDK's histogram costs more than the call lane itself, so its part of a busy loop is bounded. Pure.
 */

const SPAN_MS = 1_000;

export class Pace {
  readonly #perSecond: number;
  #since = Number.NEGATIVE_INFINITY;
  #seen = 0;
  /** One of this many is taken; from how many there were in the second before. */
  #stride = 1;

  /** @param perSecond about how many are taken, once it is known that there are more. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  takes(at: number): boolean {
    const passed = at - this.#since;
    if (passed >= SPAN_MS) {
      this.#stride = Math.max(1, Math.ceil((this.#seen * SPAN_MS) / passed / this.#perSecond));
      this.#since = at;
      this.#seen = 0;
    }
    return this.#seen++ % this.#stride === 0;
  }
}
