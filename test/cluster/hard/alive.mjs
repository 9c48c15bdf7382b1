/** Whether a process is still there; one that waits to be reaped runs nothing any more. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const POLL_MS = 20;

/** The pids that are left after at most `graceMs`. */
export async function leftOf(pids, graceMs) {
  const end = performance.now() + graceMs;
  for (;;) {
    const left = [...pids].filter(isAlive);
    if (left.length === 0 || performance.now() > end) return left;
    await wait(POLL_MS);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return process.platform !== 'linux';
  }
}
