/** The heartbeat of a thread, and how late each beat was: the delay of its event loop, told without a further timer. */
import { now } from './clock.js';

/** @param beat told how late it is, in µs. */
export function everyBeat(intervalMs: number, beat: (lateMicros: number) => void): void {
  let lastAt = now();
  setInterval(() => {
    const at = now();
    const lateMs = Math.max(0, at - lastAt - intervalMs);
    lastAt = at;
    beat(Math.min(Math.round(lateMs * 1_000), 2 ** 31 - 1));
  }, intervalMs);
}
