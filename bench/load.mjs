/**
 * A closed loop of callers: each makes its next call when the last one was answered. The clock reads and the promise of
 * each call are part of every peer's figure alike.
 */
import { percentile } from './measure.mjs';

/**
 * @param call `(i) => promise`, `i` being the number of the caller
 * @param until a duration in ms, or a promise that ends the load
 */
export async function load(call, { inFlight, until }) {
  const latencies = [];
  const startedAt = performance.now();
  const endsAt = typeof until === 'number' ? startedAt + until : Number.POSITIVE_INFINITY;
  let running = true;
  // A load whose end failed has failed: the callers stop, and the error comes out below.
  const ended =
    typeof until === 'number'
      ? undefined
      : until.finally(() => {
          running = false;
        });
  const caller = async (_, i) => {
    for (let at = performance.now(); running && at < endsAt; ) {
      await call(i);
      const answeredAt = performance.now();
      latencies.push(answeredAt - at);
      at = answeredAt;
    }
  };
  await Promise.all([ended, ...Array.from({ length: inFlight }, caller)]);
  return { latencies, tookMs: performance.now() - startedAt };
}

/** Figures of one measured load. */
export function figuresOf({ value, loopMs, cpuMs, maxLoopDelayMs, waitShare }) {
  const calls = value.latencies.length;
  return {
    callsPerSecond: (calls / value.tookMs) * 1_000,
    loopMicrosPerCall: (loopMs * 1_000) / calls,
    cpuMicrosPerCall: (cpuMs * 1_000) / calls,
    p50Ms: percentile(value.latencies, 0.5),
    p99Ms: percentile(value.latencies, 0.99),
    maxLoopDelayMs,
    waitShare,
  };
}
