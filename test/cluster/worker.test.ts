/** Workers of a cluster: real Redis, real server processes, and workers that are killed, frozen and crowded. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { WorkerOptions } from '../../packages/cluster/src/worker/worker.js';
import { useCensus } from '../support/census.js';
import { Clusters, numbers } from '../support/clusters.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, redisMissing, startRedis } from '../support/redis.js';
import { useRuntime } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';

const SERVER = fileURLToPath(new URL('../fixtures/cluster-server.mjs', import.meta.url));
const WORKER = fileURLToPath(new URL('../fixtures/cluster-worker.mjs', import.meta.url));
/** Short enough that a lost worker is missed within a second. */
const QUICK = {
  lockMs: 900,
  stalledEveryMs: 300,
  leaseMs: 1_500,
  beatMs: 150,
  delayMs: 100,
  flushMs: 5,
} as const;

/** Longer than the lock of a chunk lasts. */
const AWAY_MS = 1_500;

interface Note {
  is: 'begin' | 'end';
  key: number;
  host: number;
  /** Pid of the server process. */
  server: number;
  at: number;
  idempotencyKey?: string;
}

const missing = redisMissing();
if (missing !== undefined) process.stdout.write(`test/cluster/worker: not run. ${missing}\n`);

describe.skipIf(missing !== undefined)('cluster workers', () => {
  useCensus();
  const path = useTempDir();
  const startRuntime = useRuntime(path);
  let redis: RedisServer;
  const clusters = new Clusters(path, () => redis.url, QUICK);
  const { work, submit, results, until } = clusters;
  const processes: ChildProcess[] = [];

  beforeAll(async () => {
    redis = await startRedis({ args: ['--appendfsync', 'always'] });
  });

  afterAll(() => redis.stop());

  afterEach(leave);

  async function leave(): Promise<void> {
    for (const child of processes.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
    await clusters.leave();
  }

  const servers = () => ({
    s: { command: process.execPath, args: [SERVER, JSON.stringify({ log: log() })] },
  });
  const log = (): string => path('calls.jsonl');
  const notes = (): Note[] =>
    existsSync(log())
      ? readFileSync(log(), 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Note)
      : [];
  const begins = (): Note[] => notes().filter(({ is }) => is === 'begin');

  /** One in a process of its own. */
  async function spawnWorker(
    name: string,
    options: Omit<WorkerOptions, 'runtime'> = {},
  ): Promise<ChildProcess> {
    const worker = { ...options, limits: { ...QUICK, ...options.limits } };
    const settings = { location: { redis: redis.url }, servers: servers(), logDir: path(name), worker };
    const child = spawn(process.execPath, [WORKER, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    processes.push(child);
    for await (const line of createInterface({ input: child.stdout })) if (line === 'running') return child;
    throw new Error(`worker ${name} did not start`);
  }

  const call = (key: number, more: object = {}, args: object = {}): object => ({
    id: key,
    server: 's',
    tool: 'work',
    arguments: { key, ...args },
    ...more,
  });
  const calls = (count: number, more: object = {}, args: object = {}): object[] =>
    Array.from({ length: count }, (_, index) => call(index + 1, more, args));
  /** A worker that came first would take all shards, and keep those that have work. */
  async function knownToEachOther(pids: (number | undefined)[]): Promise<void> {
    const id = await submit([call(0)]);
    await until(id, `workers ${pids}`, ({ workers: all, finished }) => {
      const own = all.filter(({ pid }) => pids.includes(pid));
      return finished && own.length === pids.length;
    });
  }

  /** Most calls that ran at once, over all servers. */
  function mostAtOnce(): number {
    let now = 0;
    let most = 0;
    for (const { is } of notes()) {
      now += is === 'begin' ? 1 : -1;
      most = Math.max(most, now);
    }
    return most;
  }

  test('two workers run every line once, and each call carries the key of its line', async () => {
    await work(await startRuntime(servers()));
    await work(await startRuntime(servers()));
    const id = await submit(calls(200, {}, { ms: 2 }));
    const lines = await results(id);
    expect(lines.map(({ line, outcome }) => [line, outcome])).toEqual(
      numbers(200).map((line) => [line, 'ok']),
    );
    expect(
      begins()
        .map(({ key, idempotencyKey }) => [key, idempotencyKey])
        .sort(),
    ).toEqual(
      numbers(200)
        .map((key) => [key, `${id}:${key}`])
        .sort(),
    );
  });

  test('a worker that stops ends its calls in flight and gives the rest to another', async () => {
    const first = await work(await startRuntime(servers()), { windows: new Map([['s', 2]]) });
    const id = await submit(calls(40, {}, { ms: 30 }));
    await eventually(
      () => begins().length >= 3,
      () => 'the first calls',
    );
    await first.stop();
    const sent = begins().length;
    expect(sent).toBeLessThan(40);
    expect(notes().filter(({ is }) => is === 'end')).toHaveLength(sent);
    await work(await startRuntime(servers()));
    const lines = await results(id);
    expect(lines.every(({ outcome, attempts }) => outcome === 'ok' && attempts === 1)).toBe(true);
    expect(begins()).toHaveLength(40);
  });

  test('what a killed worker had answered is not repeated, what it had sent is unknown, unless it is idempotent', async () => {
    const lines = numbers(16).map((key) =>
      key <= 4 ? call(key) : call(key, { tool: 'hang', idempotent: key % 2 === 0 }),
    );
    const first = await spawnWorker('first');
    const id = await submit(lines, { chunkLines: 16 });
    await eventually(
      () => begins().length === 16,
      () => '16 calls',
    );
    await until(id, 'four answers', ({ answered }) => answered === 4);
    first.kill('SIGKILL');
    await once(first, 'exit');
    await spawnWorker('second');
    await eventually(
      () => begins().length === 22,
      () => 'the idempotent calls again',
    );
    await until(id, 'ends of the others', ({ answered }) => answered === 10);
    await clusters.last.cancel(id);
    const ends = await results(id);
    expect(ends.map(({ outcome }) => outcome)).toEqual(
      numbers(16).map((key) => (key <= 4 ? 'ok' : key % 2 === 0 ? 'cancelled' : 'outcome_unknown')),
    );
    const keys = begins().map(({ key }) => key);
    for (const key of numbers(16)) {
      expect(keys.filter((one) => one === key)).toHaveLength(key > 4 && key % 2 === 0 ? 2 : 1);
    }
  });

  test('whatever moment a worker is killed at, every line has one result and no call runs twice', async () => {
    const first = await spawnWorker('first', {});
    await spawnWorker('second');
    const id = await submit(calls(300, {}, { ms: 5 }));
    await eventually(
      () => begins().length >= 60,
      () => '60 calls',
    );
    first.kill('SIGKILL');
    const lines = await results(id);
    expect(lines.map(({ line }) => line)).toEqual(numbers(300));
    const lost = lines.filter(({ outcome }) => outcome !== 'ok');
    for (const { outcome, error } of lost) {
      expect(outcome).toBe('outcome_unknown');
      expect(error?.message).toMatch(/may have run/);
    }
    expect(lost.length).toBeLessThan(150);
    const keys = begins().map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('a worker that was frozen sends nothing more once its chunk is another one', async () => {
    const first = await spawnWorker('first', { concurrency: 2 });
    const id = await submit(calls(40, {}, { ms: 50 }), { chunkLines: 40 });
    await eventually(
      () => begins().length >= 6,
      () => 'the first calls',
    );
    first.kill('SIGSTOP');
    const before = begins().filter(({ host }) => host === first.pid).length;
    const second = await spawnWorker('second');
    await eventually(
      () => begins().some(({ host }) => host === second.pid),
      () => 'calls of the second worker',
    );
    first.kill('SIGCONT');
    const lines = await results(id);
    await until(id, 'the first worker to be back', ({ workers: all }) =>
      all.some(({ pid, chunks }) => pid === first.pid && chunks === 0),
    );
    expect(lines.map(({ line }) => line)).toEqual(numbers(40));
    expect(begins().filter(({ host }) => host === first.pid)).toHaveLength(before);
    const keys = begins().map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('calls with the same affinity meet the same server process, one after the other, in the order of the input', async () => {
    const two = [await work(await startRuntime(servers())), await work(await startRuntime(servers()))];
    await eventually(
      () => two.every((worker) => worker.stats().peers === 2),
      () => 'workers that know each other',
    );
    const count = 120;
    const affinityOf = (key: number): number => key % 8;
    const id = await submit(
      numbers(count).map((key) => call(key, { affinity: affinityOf(key) }, { ms: 3 })),
      { chunkLines: 4, shards: 4 },
    );
    expect((await results(id)).every(({ outcome }) => outcome === 'ok')).toBe(true);
    const used = new Set<number>();
    for (let affinity = 0; affinity < 8; affinity++) {
      const own = notes().filter(({ key }) => key > 0 && affinityOf(key) === affinity);
      const expected = numbers(count)
        .filter((key) => affinityOf(key) === affinity)
        .flatMap((key) => [`begin ${key}`, `end ${key}`]);
      expect(own.map(({ is, key }) => `${is} ${key}`)).toEqual(expected);
      expect(new Set(own.map(({ server }) => server)).size).toBe(1);
      for (const { server } of own) used.add(server);
    }
    expect(used.size).toBe(2);
  });

  test('the order of an affinity outlasts its worker', async () => {
    // On a machine that is slow for a moment neither must take the other for gone, and with it all shards.
    const limits = { leaseMs: 5_000, lockMs: 3_000 };
    const first = await spawnWorker('first', { limits });
    const second = await spawnWorker('second', { limits });
    await knownToEachOther([first.pid, second.pid]);
    const count = 160;
    const id = await submit(
      numbers(count).map((key) => call(key, { affinity: key % 4, idempotent: true }, { ms: 10 })),
      { chunkLines: 5, shards: 4 },
    );
    await eventually(
      () => begins().length > 30,
      () => 'calls',
    );
    // How the shards were shared out depends on who was there first; one that holds some is to be lost.
    const [lost, heir] = begins().some(({ host }) => host === first.pid) ? [first, second] : [second, first];
    lost.kill('SIGKILL');
    await once(lost, 'exit');
    expect((await results(id)).every(({ outcome }) => outcome === 'ok')).toBe(true);
    for (let affinity = 0; affinity < 4; affinity++) {
      const own = begins().filter(({ key }) => key > 0 && key % 4 === affinity);
      // Answers that were not noted yet when their worker died are asked for again, from there on in order.
      for (const { pid } of [lost, heir]) {
        const keys = own.filter(({ host }) => host === pid).map(({ key }) => key);
        expect(keys).toEqual([...new Set(keys)].sort((a, b) => a - b));
      }
      expect(own.length - new Set(own.map(({ key }) => key)).size).toBeLessThan(10);
      const takeover = own.findIndex(({ host }) => host === heir.pid);
      expect(own.slice(takeover).every(({ host }) => host === heir.pid)).toBe(true);
    }
    expect(heir.exitCode).toBeNull();
  });

  test('a window holds over all workers', async () => {
    await work(await startRuntime(servers()));
    await work(await startRuntime(servers()));
    const id = await submit(calls(60, {}, { ms: 10 }), { windows: { s: 3 } });
    expect((await results(id)).every(({ outcome }) => outcome === 'ok')).toBe(true);
    expect(mostAtOnce()).toBeLessThanOrEqual(3);
    expect(mostAtOnce()).toBeGreaterThan(1);
  });

  test('a rate holds over all workers', async () => {
    await work(await startRuntime(servers()));
    await work(await startRuntime(servers()));
    const id = await submit(calls(60), { rates: { '*': 50 } });
    expect((await results(id)).every(({ outcome }) => outcome === 'ok')).toBe(true);
    const times = begins()
      .map(({ at }) => at)
      .sort((a, b) => a - b);
    // 100 ms' worth may start at once.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(((60 - 6) / 50) * 1_000);
  });

  test('workers pause while nobody reads the results, and go on when somebody does', async () => {
    await work(await startRuntime(servers()), { concurrency: 4 });
    const id = await submit(calls(120, {}, { bytes: 500 }), { chunkLines: 4, maxUnreadBytes: 20_000 });
    await until(id, 'chunks that are sent away', ({ queues }) =>
      queues.some(({ delayed, running }) => delayed > 2 && running === 0),
    );
    expect(begins().length).toBeLessThan(80);
    expect((await results(id)).every(({ outcome }) => outcome === 'ok')).toBe(true);
    expect(begins()).toHaveLength(120);
  });

  test('a cancelled batch ends its calls in flight and sends no other', async () => {
    await work(await startRuntime(servers()), { concurrency: 3 });
    const id = await submit(calls(20, { tool: 'hang' }), { chunkLines: 10 });
    await eventually(
      () => begins().length === 3,
      () => 'three calls',
    );
    await clusters.last.cancel(id);
    const lines = await results(id);
    expect(new Set(lines.map(({ outcome }) => outcome))).toEqual(new Set(['cancelled']));
    expect(lines).toHaveLength(20);
    expect(lines.filter(({ attempts }) => attempts === 1)).toHaveLength(3);
    expect(begins()).toHaveLength(3);
  });

  test('a chunk whose worker dies each time is given up, and its lines say so', async () => {
    const lines = [call(1, { tool: 'kill', idempotent: true }, { times: 99 }), call(2, { tool: 'hang' })];
    const id = await submit(lines);
    const limits = { maxStalled: 1 };
    let losses = 0;
    for (let finished = false; !finished; ) {
      const worker = await spawnWorker(`worker-${losses}`, { limits });
      const exit = once(worker, 'exit').then(() => true);
      while (!finished && !(await Promise.race([exit, wait(50, false)]))) {
        finished = (await clusters.last.status(id)).finished;
      }
      if (!finished) losses++;
    }
    const ends = await results(id);
    expect(ends.map(({ outcome }) => outcome)).toEqual(['outcome_unknown', 'outcome_unknown']);
    expect(ends[0]?.error?.message).toMatch(/workers? (was|were) lost/);
    expect(losses).toBe(2);
  });

  test('workers outlast Redis being away: nothing is sent meanwhile, and no call runs twice', async () => {
    const shared = redis;
    redis = await startRedis({ args: ['--appendfsync', 'always'] });
    try {
      await restarted();
    } finally {
      await leave();
      await redis.stop();
      redis = shared;
    }
  });

  async function restarted(): Promise<void> {
    const warnings: string[] = [];
    await work(await startRuntime(servers()), { onWarning: (message) => void warnings.push(message) });
    const id = await submit(calls(150, {}, { ms: 10 }), { chunkLines: 50, windows: { s: 4 } });
    await eventually(
      () => begins().length >= 20,
      () => '20 calls',
    );
    await redis.kill();
    await eventually(
      () => notes().length === 2 * begins().length,
      () => 'the calls in flight to end',
    );
    const sent = begins().length;
    await wait(AWAY_MS);
    await eventually(
      () => warnings.length === 1,
      () => 'a warning',
    );
    expect(begins()).toHaveLength(sent);
    await redis.start();
    const lines = await results(id);
    expect(lines.map(({ line }) => line)).toEqual(numbers(150));
    const keys = begins().map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(lines.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(100);
    expect(warnings).toEqual([
      expect.stringMatching(/has not answered for \d+ s; no further call is sent/),
      expect.stringMatching(/is well again after \d+ s/),
    ]);
  }
});
