/** From an input to queued chunks: where each line goes, that none is queued twice, and what is left of a broken submission. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Chunk } from '../../packages/cluster/src/chunk.js';
import { type Cluster, openCluster } from '../../packages/cluster/src/cluster.js';
import { cleanServer, queueName, routesOf, serves, shardOf } from '../../packages/cluster/src/queue-names.js';
import { openStore, type Store } from '../../packages/cluster/src/store.js';
import { type RedisServer, redisMissing, startRedis } from '../support/redis.js';
import { useTempDir } from '../support/temp-dir.js';

const missing = redisMissing();
if (missing !== undefined) console.warn(`Skipped: ${missing}`);

const temp = useTempDir();

function call(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({ server: 'a', tool: 'echo', arguments: {}, ...fields });
}

function file(lines: readonly string[], name = 'calls.jsonl'): string {
  const path = temp(name);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

describe('names of queues', () => {
  test('are those of the servers, told apart where characters had to be replaced', () => {
    expect(queueName(cleanServer('file-system_2'))).toBe('bulkhead-file-system_2');
    expect(cleanServer('my.server')).toMatch(/^my_server\.[0-9a-f]{8}$/);
    expect(cleanServer('my.server')).not.toBe(cleanServer('my server'));
    expect(cleanServer('')).not.toBe(cleanServer('.'));
  });

  test('never take a shard for the queue of another server', () => {
    const shards = Array.from({ length: 4 }, (_, shard) => queueName('a', shard));
    for (const server of ['a.s1', 'a-s1', 'a_s1'])
      expect(shards).not.toContain(queueName(cleanServer(server)));
  });

  test('lead lines with a full name to the server that the name was made of', () => {
    const long = 'a-very-long-server-name-that-does-not-fit-into-a-full-name';
    for (const [server, route] of [
      ['files', 'files'],
      ['my.server', 'my_server'],
      ['a__b', 'a'],
      ['a_', 'a'],
      [long, long.slice(0, 30)],
    ] as const) {
      expect(serves(server, route), server).toBe(true);
    }
    expect(serves('files', 'file')).toBe(false);
    expect(routesOf('files')).toEqual(['files']);
  });
});

describe.skipIf(missing !== undefined)('a submission', () => {
  let server: RedisServer;
  let store: Store;
  let cluster: Cluster;

  beforeAll(async () => {
    server = await startRedis();
    store = await openStore({ redis: server.url });
    cluster = await openCluster({ redis: server.url });
  });
  afterAll(async () => {
    await cluster?.close();
    await store?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    for (const { id } of await cluster.batches()) await cluster.remove(id);
  });

  /** What waits, by queue, in the order in which it will be taken. */
  async function queued(id: string): Promise<Map<string, Chunk[]>> {
    const chunks = new Map<string, Chunk[]>();
    for (const queue of (await store.ledger.chunks(id)).keys()) {
      const jobs = await store.queue(queue).getJobs(['waiting', 'prioritized'], 0, -1, true);
      chunks.set(
        queue,
        jobs.map(({ data }) => data),
      );
    }
    return chunks;
  }
  const linesOf = (chunks: readonly Chunk[] = []): number[] =>
    chunks.flatMap(({ lines }) => lines.map(([line]) => line));
  const allLines = (byQueue: ReadonlyMap<string, Chunk[]>): number[] =>
    [...byQueue.values()].flatMap(linesOf).sort((a, b) => a - b);
  const span = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

  test('puts each line into the queue of its server, and lines with an affinity into its shard, in order', async () => {
    const input = file([
      call({ server: 'a' }),
      call({ server: 'b.c' }),
      '',
      call({ server: undefined, tool: 'mcp__a__echo' }),
      call({ affinity: 'left' }),
      call({ affinity: 7 }),
      call({ affinity: 'left' }),
    ]);
    const report = await cluster.submit({ input, plan: { shards: 64 } });
    expect(report).toMatchObject({ lines: 6, badInput: 0, continued: false });
    const chunks = await queued(report.id);
    expect(linesOf(chunks.get('bulkhead-a'))).toEqual([1, 4]);
    expect(linesOf(chunks.get(queueName(cleanServer('b.c'))))).toEqual([2]);
    expect(linesOf(chunks.get(queueName('a', shardOf('left', 64))))).toEqual([5, 7]);
    expect(linesOf(chunks.get(queueName('a', shardOf('7', 64))))).toEqual([6]);
    expect((await store.ledger.queues()).filter(({ shard }) => shard === undefined)).toContainEqual({
      queue: 'bulkhead-a',
      server: 'a',
    });
    expect(await cluster.status(report.id)).toMatchObject({
      state: 'sealed',
      name: 'calls.jsonl',
      lines: 6,
      answered: 0,
      finished: false,
    });
  });

  test('cuts chunks by lines and by size, and puts a line that is longer into one of its own', async () => {
    const long = call({ arguments: { text: 'x'.repeat(300_000) } });
    const { id, chunks } = await cluster.submit({
      input: file([...span(7).map(() => call()), long, call()]),
      plan: { chunkLines: 3 },
    });
    const sizes = (await queued(id)).get('bulkhead-a')?.map(({ lines }) => lines.length);
    expect(sizes).toEqual([3, 3, 1, 1, 1]);
    expect(chunks).toBe(5);
  });

  test('gives lines that are no call their result at once', async () => {
    const { id, lines, badInput } = await cluster.submit({
      input: file(['{"id":5,"server":"a"}', call(), 'nonsense', call({ affinity: {} })]),
    });
    expect({ lines, badInput }).toEqual({ lines: 4, badInput: 3 });
    const page = await store.ledger.results(id, undefined, 1_000_000);
    expect(page.lines.map((line) => JSON.parse(String(line)))).toMatchObject([
      { id: 5, line: 1, server: 'a', outcome: 'rejected', error: { code: 'BAD_INPUT' } },
      { line: 3, outcome: 'rejected' },
      { line: 4, outcome: 'rejected' },
    ]);
    expect(allLines(await queued(id))).toEqual([2]);
  });

  test('takes a stream', async () => {
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${call()}\n${call().slice(0, 10)}`);
      yield Buffer.from(call().slice(10));
    }
    const { id, lines } = await cluster.submit({ input: bytes(), batch: 'from-a-stream' });
    expect({ id, lines }).toEqual({ id: 'from-a-stream', lines: 2 });
    await expect(cluster.submit({ input: bytes(), batch: id })).rejects.toThrow(
      'was submitted from a stream',
    );
  });

  test('of the same file to the same batch adds nothing', async () => {
    const input = file(span(1_000).map((n) => call({ id: n, ...(n % 3 === 0 && { affinity: n % 5 }) })));
    const first = await cluster.submit({ input });
    const before = await queued(first.id);
    const again = await cluster.submit({ input, batch: first.id });
    expect(again).toEqual({ ...first, continued: true });
    expect(await queued(first.id)).toEqual(before);
    expect(allLines(before)).toEqual(span(1_000));
  });

  test('that was killed is continued with the same file, and every line is queued once', async () => {
    const input = file(span(40_000).map((n) => call({ id: n, ...(n % 3 === 0 && { affinity: n % 5 }) })));
    const child = fork(new URL('../fixtures/cluster-submit.mjs', import.meta.url), [
      server.url,
      input,
      'killed',
    ]);
    const [, signal] = await once(child, 'exit');
    expect(signal).toBe('SIGKILL');
    const half = await cluster.status('killed');
    expect(half.state).toBe('open');
    expect(half.lines).toBeGreaterThan(0);
    expect(half.lines).toBeLessThan(40_000);
    const report = await cluster.submit({ input, batch: 'killed' });
    expect(report).toMatchObject({ lines: 40_000, continued: true });
    expect(allLines(await queued('killed'))).toEqual(span(40_000));
    expect(await cluster.status('killed')).toMatchObject({ state: 'sealed', lines: 40_000 });
  });

  test('refuses another file for the batch', async () => {
    const input = file([call()]);
    const { id } = await cluster.submit({ input });
    const other = file([call({ tool: 'grab' })], 'other.jsonl');
    await expect(cluster.submit({ input: other, batch: id })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(`batch "${id}" was submitted from "${input}", but "${other}" begins`),
    });
    writeFileSync(input, `${call()}\n${call()}\n`);
    await expect(cluster.submit({ input, batch: id })).rejects.toThrow(/has \d+ bytes, and that one had \d+/);
    expect(allLines(await queued(id))).toEqual([1]);
  });

  test('refuses a plan or an id that is wrong, and an input that is not there, before anything is made', async () => {
    const input = file([call()]);
    await expect(cluster.submit({ input, plan: { chunkLines: 0 } })).rejects.toThrow('`chunkLines`');
    await expect(cluster.submit({ input, plan: { windows: { a: -1 } } })).rejects.toThrow('`windows.a`');
    await expect(cluster.submit({ input, batch: 'a_b' })).rejects.toThrow('cannot be the id of a batch');
    await expect(cluster.submit({ input: temp('none') })).rejects.toThrow('there is no such file');
    expect(await cluster.batches()).toEqual([]);
  });

  test('to a batch that is cancelled meanwhile ends, and each line that was queued has its result', async () => {
    let wake: () => void = () => {};
    const cancelled = new Promise<void>((resolve) => {
      wake = resolve;
    });
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${call()}\n`.repeat(30_000));
      await cancelled;
      yield Buffer.from(`${call()}\n`.repeat(60_000));
    }
    const submitting = cluster.submit({
      input: bytes(),
      batch: 'stopped',
      onProgress({ id, lines }) {
        if (lines > 0) void cluster.cancel(id).then(wake);
      },
    });
    await expect(submitting).rejects.toMatchObject({ code: 'CANCELLED' });
    const status = await cluster.status('stopped');
    expect(status).toMatchObject({ state: 'cancelled', finished: true, answered: status.lines });
    expect(status.answered).toBeGreaterThan(0);
    expect(allLines(await queued('stopped'))).toEqual([]);
    await expect(cluster.submit({ input: bytes(), batch: 'stopped' })).rejects.toThrow('stopped');
  });

  test('whose Redis goes away says what is saved, and is continued when it is back', async () => {
    const own = await startRedis();
    const input = file(span(60_000).map((n) => call({ id: n })));
    const impatient = await openCluster({ redis: own.url, patienceMs: 300 });
    try {
      let killed: Promise<void> | undefined;
      const submitting = impatient.submit({
        input,
        batch: 'torn',
        onProgress({ lines }) {
          if (lines > 0) killed ??= own.kill();
        },
      });
      await expect(submitting).rejects.toMatchObject({
        code: 'CONNECTION_LOST',
        message: expect.stringMatching(
          /\d+ lines are submitted \(batch "torn"\); submit the same file again/,
        ),
      });
      await killed;
      await own.start();
      const back = await openCluster({ redis: own.url });
      expect(await back.submit({ input, batch: 'torn' })).toMatchObject({ lines: 60_000, continued: true });
      expect(await back.cancel('torn')).toEqual({ lines: 60_000, held: 0 });
      await back.close();
    } finally {
      await impatient.close();
      await own.stop();
    }
  });
});
