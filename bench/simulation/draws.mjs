/** Randomness of a simulation: the same numbers for the same seed. */

export class Draws {
  #state;

  constructor(seed) {
    this.#state = seed | 0;
  }

  /** From 0 to below 1; mulberry32. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share) {
    return this.next() < share;
  }

  between(min, max) {
    return min + (max - min) * this.next();
  }

  pick(list) {
    return list[Math.floor(this.next() * list.length)];
  }

  /** How long calls take: log-normal, as answers of services are; `sigma` 0 is always the mean. */
  latency(meanMs, sigma) {
    if (sigma === 0) return meanMs;
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return meanMs * Math.exp(sigma * normal - (sigma * sigma) / 2);
  }
}
