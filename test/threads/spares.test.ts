/** Spare threads: the next start gets one, a dead one harms nobody, and none outlives the host. */

import diagnostics from 'node:diagnostics_channel';
import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { Board, entries, type ServerThreadInit, serverDefaults } from '@bulkhead/workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Spares } from '../../packages/workers/src/supervisor/spares.js';
import { type IdleThread, ServerThreadHandle } from '../../packages/workers/src/supervisor/thread.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);

const started: Worker[] = [];
const note = (message: unknown) => void started.push((message as { worker: Worker }).worker);
const open: Spares[] = [];
beforeEach(() => {
  started.length = 0;
  diagnostics.subscribe('worker_threads', note);
});
afterEach(async () => {
  vi.useRealTimers();
  diagnostics.unsubscribe('worker_threads', note);
  await Promise.all(open.splice(0).map((spares) => spares.close()));
});

/** Spares of real threads; quiet moments come when the test says so. */
function spares(options: { count?: number; busy?: () => boolean; entry?: URL } = {}): Spares {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { count = 1, busy = () => false, entry = entries.server } = options;
  const made = new Spares({ entry, heapMb: 64 }, { count, busy, terminateGraceMs: 2_000 });
  open.push(made);
  return made;
}

const quiet = () => vi.advanceTimersByTime(1_000);

/** The thread with a server's record, as a start gives it one. */
function begin(thread: IdleThread): ServerThreadHandle {
  const init: ServerThreadInit = {
    name: 's',
    slot: 0,
    generation: 1,
    board: Board.create(1).buffer,
    options: serverDefaults,
    clientInfo: { name: 'test', version: '1' },
    heartbeatMs: 250,
    transferBytes: 64 * 1024,
    spillDir: join(tmpdir(), 'bulkhead-spill-test'),
    handlers: { sampling: false, elicitation: false, roots: false, authorize: false },
  };
  return new ServerThreadHandle(thread, init, () => {});
}

async function serves(thread: IdleThread): Promise<void> {
  const handle = begin(thread);
  await handle.online();
  expect(await handle.control.call('skipped', [], { timeoutMs: 10_000 })).toEqual({ count: 0, tail: [] });
  expect(await handle.terminate(2_000)).toBe(true);
}

describe('a spare thread', () => {
  it('is made only in a quiet moment and is the thread of the next start', async () => {
    let starting = true;
    const pool = spares({ busy: () => starting });
    pool.refill();
    expect(started).toHaveLength(0);
    quiet();
    expect(started).toHaveLength(0); // a server was starting
    starting = false;
    quiet();
    expect(pool.waiting).toBe(1);
    const thread = pool.thread();
    expect(thread.worker).toBe(started[0]);
    expect(pool.waiting).toBe(0);
    await serves(thread);
  });

  it('is replaced when a server is ready again, not before', async () => {
    const pool = spares();
    pool.refill();
    quiet();
    const first = pool.thread();
    quiet();
    expect(started).toHaveLength(1);
    await serves(first);
    pool.refill();
    quiet();
    expect(started).toHaveLength(2);
    expect(pool.waiting).toBe(1);
  });

  it('does not hold up a start that finds none: it boots its own', async () => {
    const pool = spares();
    await serves(pool.thread());
    expect(started).toHaveLength(1);
  });

  it('comes one after the other when several are wanted', async () => {
    const pool = spares({ count: 2 });
    pool.refill();
    quiet();
    expect(started).toHaveLength(1);
    await eventually(
      () => vi.getTimerCount() > 0,
      () => 'the first one to be online',
    );
    quiet();
    expect(pool.waiting).toBe(2);
    pool.refill();
    quiet();
    expect(started).toHaveLength(2);
  });

  it('that dies is forgotten, and the next start is none the worse', async () => {
    const pool = spares();
    pool.refill();
    quiet();
    await started[0]?.terminate();
    await eventually(
      () => pool.waiting === 0,
      () => 'the dead spare to be forgotten',
    );
    await serves(pool.thread());
  });

  it('that cannot boot is not tried again until a server is ready', async () => {
    const file = directory('broken.mjs');
    writeFileSync(file, "throw new Error('no such thread');\n");
    const pool = spares({ entry: pathToFileURL(file) });
    pool.refill();
    quiet();
    await eventually(
      () => pool.waiting === 0,
      () => 'the broken spare to be forgotten',
    );
    quiet();
    expect(started).toHaveLength(1);
    pool.refill();
    quiet();
    expect(started).toHaveLength(2);
  });

  it('is given up when memory is short, also one that is still due', async () => {
    const pool = spares();
    pool.refill();
    quiet();
    pool.drop();
    expect(pool.waiting).toBe(0);
    pool.refill();
    pool.drop();
    quiet();
    expect(started).toHaveLength(1);
    expect(await pool.close()).toBe(0);
  });

  it('is never made with spareThreads 0', () => {
    const pool = spares({ count: 0 });
    pool.refill();
    quiet();
    expect(started).toHaveLength(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is never made after close()', async () => {
    const pool = spares();
    pool.refill();
    expect(await pool.close()).toBe(0);
    pool.refill();
    quiet();
    expect(started).toHaveLength(0);
  });
});

describe('a runtime', () => {
  const threads = () => readdirSync('/proc/self/task').length;

  it('has one ready once its server is up, starts the next generation on it, and ends it in close()', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const up = threads();
    await eventually(
      () => threads() === up + 1,
      () => `a spare thread beside the ${up} threads`,
    );
    await runtime.server('s').restart();
    await eventually(
      () => runtime.server('s').generation === 2 && runtime.server('s').state === 'ready',
      () => 'generation 2',
    );
    expect((await runtime.callTool('mcp__s__echo', { text: 'on a spare' })).text()).toBe('on a spare');
    await eventually(
      () => threads() === up + 1,
      () => 'the next spare',
    );
    const report = await runtime.close();
    expect(report.lostThreads).toBe(0);
    await eventually(
      () => threads() <= up - 2,
      () => 'supervisor, server thread and spare to be gone',
    );
  });
});
