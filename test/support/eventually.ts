/** Waiting for what has no event: the kernel's view of processes, files that another process writes. */
import { setTimeout as wait } from 'node:timers/promises';

const POLL_MS = 10;

/**
 * Polls `probe` until it gives something other than `undefined` or `false`, and returns that.
 * @param what finishes the sentence "Waited … ms in vain for"; called only on failure.
 * @throws {Error} after `deadlineMs`.
 */
export async function eventually<T>(
  probe: () => T | undefined | false,
  what: () => string,
  deadlineMs = 10_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() >= end) throw new Error(`Waited ${deadlineMs} ms in vain for ${what()}`);
    await wait(POLL_MS);
  }
}
