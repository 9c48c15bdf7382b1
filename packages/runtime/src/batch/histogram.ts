/** Latencies in constant memory: logarithmic buckets, at most 1 % off. Pure. */

/** Each bucket is 2 % wider than the one before; the middle of a bucket is then within 1 %. */
const GROWTH = Math.log(1.02);
/** The finest latency told apart, in ms. */
const FLOOR_MS = 0.001;

export class LatencyHistogram {
  readonly #buckets: number[] = [];
  #count = 0;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    const index = ms <= FLOOR_MS ? 0 : Math.ceil(Math.log(ms / FLOOR_MS) / GROWTH);
    while (this.#buckets.length <= index) this.#buckets.push(0);
    this.#buckets[index] = (this.#buckets[index] ?? 0) + 1;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  /** Latency that `percent` of the calls did not exceed, in ms; 0 when there was none. */
  percentile(percent: number): number {
    if (this.#count === 0) return 0;
    const rank = Math.max(1, Math.ceil((this.#count * percent) / 100));
    let seen = 0;
    for (const [index, count] of this.#buckets.entries()) {
      seen += count;
      if (seen >= rank) return Math.min(this.#maxMs, FLOOR_MS * Math.exp(GROWTH * (index - 0.5)));
    }
    return this.#maxMs;
  }
}
