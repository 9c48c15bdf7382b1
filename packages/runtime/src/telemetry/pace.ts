/**
 * Which of many calls are recorded: all of them while they are few, every so manieth while they are more, evenly spaced.
 * An SDK's histogram costs more than the call lane itself, so its part of a busy loop is bounded. Pure.
 */

const SPAN_MS = 1_000;

export class Pace {
  readonly #perSecond: number;
  #since = Number.NEGATIVE_INFINITY;
  #seen = 0;
  #taken = 0;
  /** One of this many is taken: by how many there were in the second before, and doubled while that was too few. */
  #stride = 1;

  /** @param perSecond about how many are taken; somewhat more in the second in which they become many. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  takes(at: number): boolean {
    const passed = at - this.#since;
    if (passed >= SPAN_MS) {
      this.#stride = Math.max(1, Math.ceil((this.#seen * SPAN_MS) / passed / this.#perSecond));
      this.#since = at;
      this.#seen = 0;
      this.#taken = 0;
    }
    if (this.#seen++ % this.#stride !== 0) return false;
    if (++this.#taken > this.#perSecond) {
      this.#taken = 0;
      this.#stride *= 2;
    }
    return true;
  }
}
