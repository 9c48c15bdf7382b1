/**
 * The process census: what exists before a test must be all that exists after it. Children and their descendants,
 * zombies, recorded pids, threads, resources that keep the loop alive, listeners of `process`, unhandled rejections.
 * Counts may fall; whatever has come and stays past the grace is named.
 */
import diagnostics from 'node:diagnostics_channel';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach } from 'vitest';
import { eventually } from './eventually.js';
import { alive, descendants, describeProcess, processRow } from './processes.js';

export { alive } from './processes.js';

export interface Census {
  /** Pids of all descendants, zombies included. */
  processes: ReadonlySet<number>;
  threads: ReadonlySet<Worker>;
  resources: ReadonlyMap<string, number>;
  /** Listeners of `process`, by event. */
  listeners: ReadonlyMap<string, number>;
}

export interface CleanOptions {
  /** How long the kernel and the loop may take to finish what was ended. Default 3 000. */
  graceMs?: number;
  /** Pids that must be gone wherever they hang, for instance grandchildren that were re-parented. */
  pids?: Iterable<number>;
  /** Defaults to none recorded. */
  rejections?: RejectionWatch;
}

// Workers are not among the active resources; Node announces each one when it is made.
const threads = new Set<Worker>();
diagnostics.subscribe('worker_threads', (message) => {
  const { worker } = message as { worker: Worker };
  threads.add(worker);
  worker.once('exit', () => threads.delete(worker));
});

/**
 * What comes and goes with the test runner's own work. Its short timers do too, but leave within the grace: at worst one
 * that runs while `before` is taken hides one timer of the test.
 */
const TRANSIENT = new Set(['Immediate', 'FSReqCallback', 'FSReqPromise', 'TTYWrap']);

export function census(): Census {
  return {
    processes: new Set(descendants().map((row) => row.pid)),
    threads: new Set(threads),
    resources: count(process.getActiveResourcesInfo().filter((type) => !TRANSIENT.has(type))),
    listeners: new Map(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
  };
}

/**
 * Resolves once nothing is left that `before` did not have.
 * @throws {Error} naming every process (pid and command line), thread, resource, listener and rejection that is left.
 */
export async function expectClean(before: Census, options: CleanOptions = {}): Promise<void> {
  const { graceMs = 3_000, pids = [], rejections } = options;
  const watched = [...pids];
  await eventually(
    () => leftovers(before, watched).length === 0,
    () => `a clean end; still there:\n  ${leftovers(before, watched).join('\n  ')}`,
    graceMs,
  );
  const unhandled = rejections?.errors ?? [];
  if (unhandled.length > 0)
    throw new Error(`Nobody handled:\n  ${unhandled.map(describeError).join('\n  ')}`);
}

export interface RejectionWatch {
  readonly errors: readonly unknown[];
  stop(): void;
}

/** Records what reaches `unhandledRejection` and `uncaughtException` until stopped. */
export function watchRejections(): RejectionWatch {
  const errors: unknown[] = [];
  const record = (error: unknown): void => {
    errors.push(error);
  };
  process.on('unhandledRejection', record);
  process.on('uncaughtException', record);
  return {
    errors,
    stop() {
      process.off('unhandledRejection', record);
      process.off('uncaughtException', record);
    },
  };
}

/**
 * Installs the census around every test of the file. Call it before other hooks: `afterEach` runs in reverse order, so
 * the census comes last. `watch(pid)` adds a process that must be gone at the end of the current test.
 */
export function useCensus(options: { graceMs?: number } = {}): { watch(pid: number): void } {
  const pids = new Set<number>();
  let before: Census | undefined;
  let rejections: RejectionWatch | undefined;
  beforeEach(() => {
    pids.clear();
    before = census();
    rejections = watchRejections();
  });
  afterEach(async () => {
    // One turn: a rejection is reported as unhandled only after the microtasks have run dry.
    await new Promise((resolve) => setImmediate(resolve));
    rejections?.stop();
    if (before) await expectClean(before, { ...options, pids, ...(rejections && { rejections }) });
  });
  return {
    watch(pid) {
      pids.add(pid);
    },
  };
}

function leftovers(before: Census, pids: readonly number[]): string[] {
  const now = census();
  const rows = descendants().filter((row) => !before.processes.has(row.pid));
  const listed = new Set(rows.map((row) => row.pid));
  return [
    ...rows.map((row) => `${row.state === 'Z' ? 'zombie' : 'child'} ${describeProcess(row)}`),
    ...pids
      .filter((pid) => !listed.has(pid) && alive(pid))
      .map(
        (pid) =>
          `process ${describeProcess(processRow(pid) ?? { pid, parent: 0, state: '?', command: '?' })}`,
      ),
    ...[...now.threads]
      .filter((thread) => !before.threads.has(thread))
      .map((thread) => `thread ${thread.threadId}`),
    ...growth(before.resources, now.resources).map((text) => `resource ${text}`),
    ...growth(before.listeners, now.listeners).map((text) => `listener of process: ${text}`),
  ];
}

function growth(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): string[] {
  return [...now]
    .filter(([name, amount]) => amount > (before.get(name) ?? 0))
    .map(([name, amount]) => `${name} (${before.get(name) ?? 0} before, ${amount} now)`);
}

function count(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
