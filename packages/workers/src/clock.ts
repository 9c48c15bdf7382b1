/**
 * One monotonic clock for all threads of the process, in milliseconds: deadlines are absolute and cross threads.
 * `performance.now()` counts from each thread's own start, so every thread adds its offset to the process clock once.
 */
import { MAX_TIMER_MS } from './defaults.js';

const [seconds, nanos] = process.hrtime();
const offset = seconds * 1e3 + nanos / 1e6 - performance.now();

/** Milliseconds on the process-wide monotonic clock (fractional). */
export function now(): number {
  return performance.now() + offset;
}

/** Resolves after `ms`; an abort takes the timer away (and leaves the promise to the collector). */
export function wait(ms: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.min(Math.max(0, ms), MAX_TIMER_MS));
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}
