/**
 * Latencies of answered calls, in constant memory: logarithmic buckets, each 2 % wider than the one before,
 * so a percentile is at most 1 % off. Recording is a logarithm and an increment (Node's own histogram costs several
 * times that per value on Node 20, for its checks and its way out of JavaScript); a server that is never called costs
 * nothing.
 */

export interface LatencySnapshot {
  /** Milliseconds. */
  p50: number;
  p95: number;
  p99: number;
  /** Of all of them; with the same a while ago it gives the mean of what came in between. */
  mean: number;
  count: number;
}

/** Longer latencies count as this: one hour, beyond every default deadline. In µs; the shortest told apart is 1 µs. */
const HIGHEST = 3_600_000_000;
const BUCKETS_PER_E = 1 / Math.log(1.02);
/** What a histogram counts by, ms. */
export const durationBoundsMs: readonly number[] = [
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000,
];

const BUCKETS = Math.ceil(Math.log(HIGHEST) * BUCKETS_PER_E) + 1;

export class LatencyRecorder {
  #buckets: Uint32Array | undefined;
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;

  /** @param ms duration; what is not a number, as from a clock that jumped, is left out. */
  record(ms: number): void {
    if (Number.isNaN(ms)) return;
    this.#buckets ??= new Uint32Array(BUCKETS);
    const micros = Math.min(HIGHEST, Math.max(1, ms * 1_000));
    const bucket = Math.ceil(Math.log(micros) * BUCKETS_PER_E);
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
    this.#count++;
    this.#sumMs += micros / 1_000;
    this.#maxMs = Math.max(this.#maxMs, micros / 1_000);
  }

  /** Figures in ms of everything recorded; undefined before the first. */
  snapshot(): LatencySnapshot | undefined {
    const count = this.#count;
    if (count === 0) return undefined;
    return { p50: this.#at(50), p95: this.#at(95), p99: this.#at(99), mean: this.#sumMs / count, count };
  }

  /** How many took at most {@link durationBoundsMs}, each of which is up to 2 % off; undefined before the first. */
  cumulative(): number[] | undefined {
    const buckets = this.#buckets;
    if (buckets === undefined) return undefined;
    let seen = 0;
    let bucket = 0;
    return durationBoundsMs.map((boundMs) => {
      const last = Math.floor(Math.log(boundMs * 1_000) * BUCKETS_PER_E);
      for (; bucket <= last; bucket++) seen += buckets[bucket] as number;
      return seen;
    });
  }

  #at(percent: number): number {
    const rank = Math.max(1, Math.ceil((this.#count * percent) / 100));
    let seen = 0;
    for (const [bucket, count] of (this.#buckets ?? []).entries()) {
      seen += count;
      // The middle of a bucket may lie above everything that was put into it.
      if (seen >= rank) return Math.min(this.#maxMs, Math.exp((bucket - 0.5) / BUCKETS_PER_E) / 1_000);
    }
    return this.#maxMs;
  }
}
