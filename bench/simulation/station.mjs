/** Something that does one piece of work at a time, first come, first served: the store, or the CPU of a worker. */

export class Station {
  #events;
  #freeAt = 0;
  /** Time spent at work, in ms. */
  busyMs = 0;
  /** Steps done. */
  done = 0;

  constructor(events) {
    this.#events = events;
  }

  /**
   * @param {number} ms of work
   * @param {number} wayMs there and back, during which others are served
   * @param {number} steps that this is
   */
  do(ms, wayMs, act, steps = 1) {
    const { now } = this.#events;
    this.#freeAt = Math.max(now, this.#freeAt) + ms;
    this.busyMs += ms;
    this.done += steps;
    this.#events.plan(this.#freeAt + wayMs, act);
  }
}
