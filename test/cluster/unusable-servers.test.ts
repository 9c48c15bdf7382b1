/** Servers that cannot be used on one worker, or on none: who gets their calls, how long they wait, and what is told. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BulkheadError, type Runtime } from '@bulkhead/runtime';
import type { BatchRuntime } from '@bulkhead/runtime/batch';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { Clusters, numbers } from '../support/clusters.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, redisMissing, startRedis } from '../support/redis.js';
import { useRuntime } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';

const SERVER = fileURLToPath(new URL('../fixtures/cluster-server.mjs', import.meta.url));
const SUBMITTER = fileURLToPath(new URL('../fixtures/cluster-submit.mjs', import.meta.url));
const QUICK = {
  lockMs: 900,
  stalledEveryMs: 300,
  leaseMs: 1_500,
  beatMs: 100,
  delayMs: 50,
  flushMs: 5,
} as const;
const BROKEN = { s: { command: 'no-such-program' } };

const missing = redisMissing();
if (missing !== undefined) process.stdout.write(`test/cluster/unusable-servers: not run. ${missing}\n`);

describe.skipIf(missing !== undefined)('servers that cannot be used', () => {
  useCensus();
  const path = useTempDir();
  const startRuntime = useRuntime(path);
  let redis: RedisServer;
  const clusters = new Clusters(path, () => redis.url, QUICK);
  const { work, submit, results, until } = clusters;

  beforeAll(async () => {
    redis = await startRedis({ args: ['--appendfsync', 'no'] });
  });

  afterAll(() => redis.stop());

  afterEach(() => clusters.leave());

  const log = (): string => path('calls.jsonl');
  const sound = () => ({ s: { command: process.execPath, args: [SERVER, JSON.stringify({ log: log() })] } });
  const begins = (): { key: number; host: number }[] =>
    existsSync(log())
      ? readFileSync(log(), 'utf8')
          .split('\n')
          .filter((line) => line.includes('"begin"'))
          .map((line) => JSON.parse(line))
      : [];
  const keys = (): number[] =>
    begins()
      .map(({ key }) => key)
      .sort((a, b) => a - b);
  const calls = (count: number, args: object = {}, more: object = {}): object[] =>
    numbers(count).map((key) => ({ server: 's', tool: 'work', arguments: { key, ...args }, ...more }));

  /** A runtime whose server says that it is ready, and takes no call. */
  function hollow(runtime: Runtime, tried: () => void): BatchRuntime {
    const error = () => new BulkheadError('NOT_READY', 'server "s" is asleep', { data: { attempts: 0 } });
    const refuse = (): Promise<never> => {
      tried();
      return Promise.reject(error());
    };
    return {
      servers: () =>
        runtime.servers().map(({ name, state, reason, start }) => ({
          ...{ name, state, reason, start },
          callTool: refuse,
        })),
      ready: (options) => runtime.ready(options),
      tools: (...args) => runtime.tools(...args),
      status: () => runtime.status(),
      on: (event, listener) => runtime.on(event, listener),
      off: (event, listener) => runtime.off(event, listener),
    };
  }

  test('a worker that cannot start a server leaves its calls to one that can, and says why', async () => {
    const broken = await startRuntime(BROKEN);
    await broken.ready();
    const first = await work(broken);
    const id = await submit(calls(40));
    const status = await until(id, 'the reason', ({ queues }) => queues[0]?.unusable.length === 1);
    expect(status.queues[0]).toMatchObject({ workers: 0, running: 0 });
    expect(status.queues[0]?.unusable[0]).toMatchObject({
      worker: { id: first.id, pid: process.pid },
      reason: expect.stringMatching(/^quarantined: .*no-such-program/),
    });
    expect([...first.stats().unusable.keys()]).toEqual(['s']);
    expect(first.stats().queues).toEqual([]);
    await work(await startRuntime(sound()));
    expect((await results(id)).every(({ outcome }) => outcome === 'ok')).toBe(true);
    expect(keys()).toEqual(numbers(40));
    expect(first.stats().done).toBe(0);
  });

  test.each([
    { where: 'the shared queue', more: {} },
    { where: 'a shard', more: { affinity: 'a' } },
  ])(
    'a server that is drained by hand in mid-chunk: $where goes to another worker, no call twice',
    async ({ more }) => {
      const runtime = await startRuntime(sound());
      const first = await work(runtime, { windows: new Map([['s', 2]]) });
      const id = await submit(calls(40, { ms: 20 }, more), { chunkLines: 20, shards: 1 });
      await eventually(
        () => begins().length >= 3,
        () => 'the first calls',
      );
      await runtime.server('s').drain();
      await eventually(
        () => first.stats().queues.length === 0 && first.stats().chunks === 0,
        () => 'the queues to be left',
      );
      const before = begins().length;
      expect(before).toBeLessThan(40);
      await work(await startRuntime(sound()));
      const lines = await results(id);
      expect(lines.map(({ outcome, attempts }) => [outcome, attempts])).toEqual(lines.map(() => ['ok', 1]));
      expect(keys()).toEqual(numbers(40));
    },
  );

  test('a server that is back gets its calls again', async () => {
    const runtime = await startRuntime(sound());
    await runtime.ready();
    await runtime.server('s').stop();
    const worker = await work(runtime);
    const id = await submit(calls(10));
    await until(
      id,
      'the reason',
      ({ queues }) => queues[0]?.unusable[0]?.reason.includes('stopped by hand') === true,
    );
    expect(worker.stats()).toMatchObject({ queues: [], done: 0 });
    await runtime.server('s').start();
    expect((await results(id)).every(({ outcome }) => outcome === 'ok')).toBe(true);
    expect(worker.stats().unusable.size).toBe(0);
  });

  test('lines that no worker can run for long enough end with the true reason', async () => {
    const broken = await startRuntime(BROKEN);
    await work(broken, { limits: { notReadyMs: 600 } });
    const id = await submit([...calls(20), ...calls(4, {}, { affinity: 'a' })]);
    const lines = await results(id);
    expect(lines).toHaveLength(24);
    for (const { outcome, attempts, error } of lines) {
      expect([outcome, attempts, error?.code]).toEqual(['rejected', 0, 'NOT_READY']);
      expect(error?.message).toMatch(/no worker could use server "s" .*quarantined: .*no-such-program/);
    }
  });

  test('lines that a worker could not send are another one’s, and forgotten as sent', async () => {
    let tried = 0;
    const asleep = await startRuntime(sound(), { logDir: path('asleep') });
    await asleep.ready();
    const first = await work(hollow(asleep, () => tried++));
    const id = await submit(calls(24), { chunkLines: 24 });
    await eventually(
      () => tried > 0,
      () => 'a call in vain',
    );
    await work(await startRuntime(sound()));
    await eventually(
      () => begins().length > 0,
      () => 'the first worker to let go',
      20_000,
    );
    const lines = await results(id);
    expect(lines.map(({ outcome, attempts }) => [outcome, attempts])).toEqual(lines.map(() => ['ok', 1]));
    expect(keys()).toEqual(numbers(24));
    expect(first.stats().done).toBe(0);
  });

  test('a chunk that comes back from everywhere ends with the reason, and not only after the long wait', async () => {
    const asleep = await startRuntime(sound());
    await asleep.ready();
    let tried = 0;
    for (const _ of [1, 2]) await work(hollow(asleep, () => tried++));
    const warm = await submit(calls(1));
    await until(warm, 'two workers', ({ workers: all }) => all.length === 2);
    const id = await submit(calls(8));
    const lines = await results(id);
    expect(lines.map(({ error }) => error?.code)).toEqual(lines.map(() => 'NOT_READY'));
    expect(lines[0]?.error?.message).toContain('is asleep');
    // Each of the five that gave it back, and the last, tried.
    expect(tried).toBeGreaterThanOrEqual(6);
  });

  test('a submission that is at work is told from one that was killed', async () => {
    await clusters.renew();
    let go: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const batch = 'b-at-work';
    async function* input(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${JSON.stringify(calls(1)[0])}\n`);
      await gate;
    }
    const submission = (await clusters.open()).submit({ input: input(), batch });
    await eventuallyKnown(batch);
    expect(await clusters.last.status(batch)).toMatchObject({ state: 'open', submitting: true });
    go();
    await submission;
    expect(await clusters.last.status(batch)).toMatchObject({ state: 'sealed', submitting: false });

    const file = path('many.jsonl');
    writeFileSync(
      file,
      calls(40_000)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
    const child = spawn(process.execPath, [SUBMITTER, redis.url, file, 'b-killed'], { stdio: 'inherit' });
    await once(child, 'exit');
    const status = await until('b-killed', 'the submitter to be missed', ({ submitting }) => !submitting);
    expect(status.state).toBe('open');
  });

  async function eventuallyKnown(batch: string): Promise<void> {
    while (!(await clusters.last.batches()).some(({ id }) => id === batch)) await wait(10);
  }
});
