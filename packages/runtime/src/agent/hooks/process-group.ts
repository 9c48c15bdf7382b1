/**
 * The process group of one hook command: everything it starts ends with it. SIGTERM, a grace, SIGKILL; and should the
 * host leave first, SIGKILL at once, because nobody would be there to wait.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { groupAlive, signalGroup, supervisorDefaults } from '@bulkhead/workers';

const POLL_MS = 20;

/** Groups that run now, by the pid of their leader. */
const running = new Set<number>();

function killAll(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL');
}

/** Remembers the group of a child that was spawned detached, so that it cannot outlive the host's own end. */
export function watchGroup(child: ChildProcess): number | undefined {
  const { pid } = child;
  if (pid === undefined) return undefined;
  if (running.size === 0) process.once('exit', killAll);
  running.add(pid);
  return pid;
}

/**
 * Ends what is left of the group. Always settles, at the latest after both graces.
 * @param exited the leader's own end, which is known sooner than by asking.
 */
export async function endGroup(pid: number, exited: Promise<unknown>): Promise<void> {
  try {
    const { termGraceMs, killGraceMs } = supervisorDefaults;
    if (groupAlive(pid)) {
      signalGroup(pid, 'SIGTERM');
      await gone(pid, exited, termGraceMs);
    }
    if (groupAlive(pid)) {
      signalGroup(pid, 'SIGKILL');
      await gone(pid, exited, killGraceMs);
    }
  } finally {
    running.delete(pid);
    if (running.size === 0) process.off('exit', killAll);
  }
}

/** Members that are not our children give no event: the kernel is asked, bounded. */
async function gone(pid: number, exited: Promise<unknown>, graceMs: number): Promise<void> {
  const until = performance.now() + graceMs;
  const early = new AbortController();
  const { signal: stop } = early;
  await Promise.race([exited, wait(graceMs, undefined, { signal: stop }).catch(() => {})]);
  early.abort();
  while (groupAlive(pid) && performance.now() < until) await wait(POLL_MS);
}
