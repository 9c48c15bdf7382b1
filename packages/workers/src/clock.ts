/**
 * One monotonic clock for all threads of the process, in milliseconds: deadlines are absolute and cross threads.
 * `performance.now()` counts from each thread's own start, so every thread adds its offset to the process clock once.
 */
const [seconds, nanos] = process.hrtime();
const offset = seconds * 1e3 + nanos / 1e6 - performance.now();

/** Milliseconds on the process-wide monotonic clock (fractional). */
export function now(): number {
  return performance.now() + offset;
}
