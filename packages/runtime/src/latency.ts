/**
 * Latencies of one server's answered calls, in constant memory: Node's HDR histogram in microseconds, two significant
 * figures (at most 1 % off). Recording costs about 30 ns; a server that is never called costs nothing.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

export interface LatencySnapshot {
  /** Milliseconds. */
  p50: number;
  p95: number;
  p99: number;
}

/** Longer latencies count as this: one hour, beyond every default deadline. In µs. */
const HIGHEST = 3_600_000_000;

export class LatencyRecorder {
  #histogram: RecordableHistogram | undefined;

  /** @param ms duration; what is not a number, as from a clock that jumped, is left out. */
  record(ms: number): void {
    if (Number.isNaN(ms)) return;
    this.#histogram ??= createHistogram({ lowest: 1, highest: HIGHEST, figures: 2 });
    // The histogram throws for fractions and for values below 1.
    this.#histogram.record(Math.min(HIGHEST, Math.max(1, Math.round(ms * 1_000))));
  }

  /** Percentiles in ms of everything recorded; undefined before the first. */
  snapshot(): LatencySnapshot | undefined {
    const histogram = this.#histogram;
    if (histogram === undefined) return undefined;
    const at = (percent: number) => histogram.percentile(percent) / 1_000;
    return { p50: at(50), p95: at(95), p99: at(99) };
  }
}
