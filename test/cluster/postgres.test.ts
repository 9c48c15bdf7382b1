/** A whole cluster on PostgreSQL: workers in this process and in others, one that is killed, and a server that crashes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, openCluster } from '../../packages/cluster/src/cluster.js';
import type { BatchPlan } from '../../packages/cluster/src/ledger.js';
import type { ClusterWorker } from '../../packages/cluster/src/worker/worker.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { postgresMissing, startPostgres, type TestPostgres } from '../support/postgres.js';
import { useRuntime } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';

const SERVER = fileURLToPath(new URL('../fixtures/cluster-server.mjs', import.meta.url));
const WORKER = fileURLToPath(new URL('../fixtures/cluster-worker.mjs', import.meta.url));
/** Short enough that a lost worker is missed within a second or two. */
const limits = { lockMs: 1_500, stalledEveryMs: 500, leaseMs: 1_500, beatMs: 200, delayMs: 100, flushMs: 5 };

interface Line {
  line: number;
  outcome: string;
}

const missing = postgresMissing();
if (missing !== undefined) console.warn(`A cluster on PostgreSQL: not run. ${missing}`);

/** A server for the tests of a suite; what they start is ended after each of them. */
function useCluster() {
  const path = useTempDir();
  const startRuntime = useRuntime(path);
  let server: TestPostgres;
  const workers: ClusterWorker[] = [];
  const clusters: Cluster[] = [];
  const processes: ChildProcess[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
  });
  afterEach(async () => {
    for (const child of processes.splice(0)) await kill(child);
    await Promise.all(workers.splice(0).map((worker) => worker.stop({ graceMs: 0 })));
    await Promise.all(clusters.splice(0).map((cluster) => cluster.close()));
  });

  const servers = () => ({
    s: { command: process.execPath, args: [SERVER, JSON.stringify({ log: path('calls.jsonl') })] },
  });
  /** Keys of the calls that servers have begun, in order. @param host Pid of the worker; undefined: all. */
  function begun(host?: number): number[] {
    if (!existsSync(path('calls.jsonl'))) return [];
    return readFileSync(path('calls.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { is: string; key: number; host: number })
      .filter((note) => note.is === 'begin' && (host ?? note.host) === note.host)
      .map(({ key }) => key);
  }

  async function open(): Promise<Cluster> {
    const cluster = await openCluster({ postgres: server.url });
    clusters.push(cluster);
    return cluster;
  }

  async function work(): Promise<ClusterWorker> {
    const worker = (await open()).worker({ runtime: await startRuntime(servers()), limits });
    workers.push(worker);
    void worker.run();
    return worker;
  }

  async function spawnWorker(name: string): Promise<ChildProcess> {
    const settings = {
      ...{ location: { postgres: server.url }, servers: servers() },
      ...{ logDir: path(name), worker: { limits } },
    };
    const child = spawn(process.execPath, [WORKER, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    processes.push(child);
    for await (const line of createInterface({ input: child.stdout })) if (line === 'running') return child;
    throw new Error(`worker ${name} did not start`);
  }

  async function submit(cluster: Cluster, lines: object[], plan: Partial<BatchPlan> = {}): Promise<string> {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    return (await cluster.submit({ input: Readable.from([Buffer.from(text)]), plan })).id;
  }

  async function results(cluster: Cluster, id: string): Promise<Line[]> {
    const output = path(`${id}.jsonl`);
    expect(await cluster.results(id, { output, follow: true })).toMatchObject({ complete: true });
    const text = readFileSync(output, 'utf8').trimEnd();
    return text
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
      .sort((a, b) => a.line - b.line);
  }

  return { open, work, spawnWorker, submit, results, begun, crash: () => server.crash() };
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
const call = (key: number, more: object = {}, args: object = {}): object => ({
  ...{ id: key, server: 's', tool: 'work', arguments: { key, ...args } },
  ...more,
});

describe.skipIf(missing !== undefined)('a cluster on PostgreSQL', () => {
  useCensus();
  const { open, work, spawnWorker, submit, results, begun } = useCluster();

  test('two workers run 2 000 lines once each, those of an affinity in their order', async () => {
    const cluster = await open();
    const keyed = (key: number): boolean => key % 10 === 0;
    const id = await submit(
      cluster,
      numbers(2_000).map((key) => call(key, keyed(key) ? { affinity: `user ${key % 3}` } : {})),
    );
    await work();
    await work();
    const lines = await results(cluster, id);
    expect(lines.map(({ line, outcome }) => `${line} ${outcome}`)).toEqual(
      numbers(2_000).map((line) => `${line} ok`),
    );
    const keys = begun();
    expect([...keys].sort((a, b) => a - b)).toEqual(numbers(2_000));
    for (const user of [0, 1, 2]) {
      const mine = keys.filter((key) => keyed(key) && key % 3 === user);
      expect(mine).toEqual([...mine].sort((a, b) => a - b));
    }
    expect(await cluster.status(id)).toMatchObject({ state: 'sealed', answered: 2_000, unreadBytes: 0 });
  });

  test('the chunks of a worker killed with SIGKILL are taken over: one result each, and no answer is lost', async () => {
    const cluster = await open();
    const id = await submit(
      cluster,
      numbers(400).map((key) => call(key, {}, { ms: 10 })),
      { chunkLines: 40, windows: { s: 8 } },
    );
    const first = await spawnWorker('first');
    const second = await spawnWorker('second');
    await eventually(
      () => begun(first.pid).length > 60,
      () => '60 calls of the first worker',
    );
    await kill(first);
    const lines = await results(cluster, id);
    expect(lines.map(({ line }) => line)).toEqual(numbers(400));
    const unknown = lines.filter(({ outcome }) => outcome === 'outcome_unknown').map(({ line }) => line);
    expect(lines.filter(({ outcome }) => outcome === 'ok')).toHaveLength(400 - unknown.length);
    // Only what the killed worker had in hand, some of which may not have reached its server; nothing was sent twice.
    expect(unknown.length).toBeLessThan(begun(first.pid).length);
    const ran = begun();
    expect(new Set(ran).size).toBe(ran.length);
    expect(numbers(400).filter((line) => !ran.includes(line) && !unknown.includes(line))).toEqual([]);
    expect(begun(second.pid).filter((line) => unknown.includes(line))).toEqual([]);
  });

  test('a cancelled batch has a result for every line, also without any worker', async () => {
    const cluster = await open();
    const id = await submit(
      cluster,
      numbers(300).map((key) => call(key)),
    );
    await cluster.cancel(id);
    const lines = await results(cluster, id);
    expect(lines.map(({ line, outcome }) => `${line} ${outcome}`)).toEqual(
      numbers(300).map((line) => `${line} cancelled`),
    );
    await cluster.remove(id);
    expect((await cluster.batches()).map((batch) => batch.id)).not.toContain(id);
  });
});

// Without a census: after it the server is another process.
describe.skipIf(missing !== undefined)('a cluster on a PostgreSQL that crashes', () => {
  const { open, work, submit, results, begun, crash } = useCluster();

  test('a server that crashes in the middle loses nothing and repeats nothing', async () => {
    const cluster = await open();
    await work();
    const id = await submit(
      cluster,
      numbers(300).map((key) => call(key, {}, { ms: 10 })),
      { chunkLines: 30, windows: { s: 4 } },
    );
    await eventually(
      () => begun().length > 50,
      () => '50 calls',
    );
    await crash();
    const lines = await results(cluster, id);
    expect(lines.map(({ line, outcome }) => `${line} ${outcome}`)).toEqual(
      numbers(300).map((line) => `${line} ok`),
    );
    expect(begun().sort((a, b) => a - b)).toEqual(numbers(300));
  });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
