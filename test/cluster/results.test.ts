/** From the store to a file: each line once whoever is killed, nothing freed that is not safe, and an end for every line. */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { UnrecoverableError } from 'bullmq';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, openCluster } from '../../packages/cluster/src/cluster.js';
import type { LineResult } from '../../packages/cluster/src/ledger.js';
import { type ChunkJob, type ChunkWorker, openStore, type Store } from '../../packages/cluster/src/store.js';
import { type RedisServer, redisMissing, startRedis } from '../support/redis.js';
import { useTempDir } from '../support/temp-dir.js';

const missing = redisMissing();
if (missing !== undefined) console.warn(`Skipped: ${missing}`);

const temp = useTempDir();
const span = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** An output line as a worker writes it. */
function result(line: number, text = ''): LineResult {
  const head = `{"id":${line},"line":${line},"server":"a","tool":"echo","outcome":"ok","isError":false`;
  return { line, outcome: 'ok', text: `${head},"result":{"text":"${text}"}}` };
}

describe.skipIf(missing !== undefined)('results', () => {
  let server: RedisServer;
  let store: Store;
  let cluster: Cluster;
  const workers: ChunkWorker[] = [];

  beforeAll(async () => {
    server = await startRedis();
    store = await openStore({ redis: server.url });
    cluster = await openCluster({ redis: server.url });
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.close();
  });
  afterAll(async () => {
    await cluster?.close();
    await store?.close();
    await server?.stop();
  });

  /** A batch of that many lines, one server of its own, so that tests do not meet in its queue. */
  async function submit(lines: number, plan = {}): Promise<{ id: string; queue: string }> {
    const name = `s-${randomUUID().slice(0, 8)}`;
    const path = temp(`${name}.jsonl`);
    writeFileSync(
      path,
      span(1, lines)
        .map((id) => `${JSON.stringify({ id, server: name, tool: 'echo', arguments: {} })}\n`)
        .join(''),
    );
    const { id } = await cluster.submit({ input: path, plan });
    return { id, queue: `bulkhead-${name}` };
  }
  const put = (id: string, lines: LineResult[]) => store.ledger.putResults(id, 'c', 'me', lines);
  const linesIn = (path: string): number[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((text) => (JSON.parse(text) as { line: number }).line)
      .sort((a, b) => a - b);

  test('are written to a file, freed in the store, and another collector is told where they are', async () => {
    const { id } = await submit(3);
    await put(id, [result(2), result(1)]);
    const output = temp('out.jsonl');
    const report = await cluster.results(id, { output });
    expect(report).toMatchObject({ written: 2, have: 2, complete: false, elsewhere: undefined });
    expect(readFileSync(output, 'utf8')).toBe(`${result(2).text}\n${result(1).text}\n`);
    expect((await store.ledger.results(id, undefined, 1_000)).lines).toEqual([]);
    expect(await cluster.status(id)).toMatchObject({
      answered: 2,
      unreadBytes: 0,
      collected: { lines: 2, to: output },
    });
    await put(id, [result(3)]);
    const late = await cluster.results(id, { output: temp('other.jsonl'), follow: true });
    expect(late).toMatchObject({ written: 1, complete: false, elsewhere: { lines: 2, to: output } });
    expect(linesIn(temp('other.jsonl'))).toEqual([3]);
  });

  test('stay in the store when they are to be kept, or go to a stream', async () => {
    const { id } = await submit(2);
    await put(id, [result(1), result(2)]);
    const stream = new PassThrough();
    expect(await cluster.results(id, { output: stream })).toMatchObject({ written: 2, complete: true });
    expect(stream.read().toString()).toBe(`${result(1).text}\n${result(2).text}\n`);
    expect(stream.writableEnded).toBe(false);
    await cluster.results(id, { output: temp('kept.jsonl'), keep: true });
    const report = await cluster.results(id, { output: temp('again.jsonl') });
    expect(report).toMatchObject({ written: 2, complete: true, elsewhere: undefined });
    expect(linesIn(temp('kept.jsonl'))).toEqual([1, 2]);
  });

  test('are appended to what the file has, after its torn last line is cut off', async () => {
    const { id } = await submit(3);
    await put(id, [result(1), result(2), result(3)]);
    const output = temp('out.jsonl');
    await cluster.results(id, { output, keep: true });
    truncateSync(output, statSync(output).size - 10);
    expect(await cluster.results(id, { output })).toMatchObject({ written: 1, have: 3, complete: true });
    expect(linesIn(output)).toEqual([1, 2, 3]);
    expect(await cluster.results(id, { output })).toMatchObject({ written: 0, have: 3, complete: true });
  });

  test('are not written into a file that is something else', async () => {
    const { id } = await submit(1);
    await put(id, [result(1)]);
    const output = temp('notes.txt');
    writeFileSync(output, 'Do not lose this.\n');
    await expect(cluster.results(id, { output })).rejects.toThrow('is no result of a batch');
    expect(readFileSync(output, 'utf8')).toBe('Do not lose this.\n');
    await expect(cluster.results(id, { output: temp() })).rejects.toThrow('cannot be written');
    await expect(cluster.results('b-none', { output })).rejects.toThrow('there is no batch "b-none"');
  });

  test('with long lines come byte for byte, in their places', async () => {
    const { id } = await submit(4);
    const long = [result(2, '€'.repeat(1_000_000)), result(3, 'x'.repeat(70_000))];
    const all = [result(1), ...long, result(4)];
    await put(id, all);
    const output = temp('out.jsonl');
    await cluster.results(id, { output, follow: true });
    expect(readFileSync(output, 'utf8')).toBe(all.map(({ text }) => `${text}\n`).join(''));
    const keys = await store.ledger.results(id, undefined, 1_000);
    expect(keys.lines).toEqual([]);
  });

  test('are followed until the last line has its own', async () => {
    const { id } = await submit(500);
    const output = temp('out.jsonl');
    const seen: number[] = [];
    let next = 1;
    const answer = async (): Promise<void> => {
      await put(
        id,
        span(next, next + 99).map((line) => result(line)),
      );
      next += 100;
    };
    await answer();
    const report = await cluster.results(id, {
      output,
      follow: true,
      onProgress({ have }) {
        seen.push(have);
        if (next < 500) void answer();
      },
    });
    expect(report).toMatchObject({ written: 500, complete: true });
    expect(seen.at(-1)).toBe(500);
    expect(linesIn(output)).toEqual(span(1, 500));
  });

  test('are followed across a restart of Redis', async () => {
    const { id } = await submit(200);
    const half = (from: number) =>
      put(
        id,
        span(from, from + 99).map((line) => result(line)),
      );
    await half(1);
    const output = temp('out.jsonl');
    let restarted: Promise<unknown> | undefined;
    const report = await cluster.results(id, {
      output,
      follow: true,
      onProgress() {
        restarted ??= server.restart().then(() => half(101));
      },
    });
    await restarted;
    expect(report).toMatchObject({ written: 200, complete: true });
    expect(linesIn(output)).toEqual(span(1, 200));
  });

  test('are not waited for after an abort', async () => {
    const { id } = await submit(2);
    await put(id, [result(1)]);
    const abort = new AbortController();
    const following = cluster.results(id, {
      output: temp('out.jsonl'),
      follow: true,
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    expect(await following).toMatchObject({ written: 1, complete: false });
  });

  test('are each in the file once when the collector is killed and started again', async () => {
    const { id } = await submit(8_000);
    for (let from = 1; from < 8_000; from += 1_000) {
      await put(
        id,
        span(from, from + 999).map((line) => result(line, 'y'.repeat(2_000))),
      );
    }
    const output = temp('out.jsonl');
    const script = new URL('../fixtures/cluster-collect.mjs', import.meta.url);
    const [, signal] = await once(fork(script, [server.url, id, output]), 'exit');
    expect(signal).toBe('SIGKILL');
    const half = readFileSync(output, 'utf8').split('\n').length - 1;
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(8_000);
    appendFileSync(output, result(1).text.slice(0, 40)); // torn in the middle of a write
    expect(await cluster.results(id, { output, follow: true })).toMatchObject({
      have: 8_000,
      complete: true,
    });
    expect(linesIn(output)).toEqual(span(1, 8_000));
  });

  test('go into a file from one collector at a time', async () => {
    const { id } = await submit(3);
    await put(id, [result(1)]);
    const output = temp('out.jsonl');
    const abort = new AbortController();
    let begun: () => void = () => {};
    const beginning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const first = cluster.results(id, { output, follow: true, signal: abort.signal, onProgress: begun });
    await beginning;
    await expect(cluster.results(id, { output })).rejects.toThrow('another collector is writing to');
    abort.abort();
    await first;
    await put(id, [result(2)]);
    expect(await cluster.results(id, { output })).toMatchObject({ written: 1, have: 2 });
  });

  test('of a batch that is cancelled without any worker say of each line that it was not sent', async () => {
    const { id, queue } = await submit(600);
    const chunk = `${id}_${queue}_0`;
    // A worker that is gone by now had answered one line and sent another.
    await store.ledger.claim(id, chunk, 'gone', [1, 2, 3]);
    await store.ledger.markSent(id, chunk, 'gone', [1, 2]);
    await put(id, [result(1)]);
    expect(await cluster.cancel(id)).toEqual({ lines: 599, held: 0 });
    const output = temp('out.jsonl');
    expect(await cluster.results(id, { output, follow: true })).toMatchObject({
      complete: true,
      batch: { outcomes: { ok: 1, outcome_unknown: 1, cancelled: 598 } },
    });
    expect(linesIn(output)).toEqual(span(1, 600));
    expect(await store.queue(queue).getJobCounts()).toMatchObject({ waiting: 0, failed: 0 });
    expect(await cluster.cancel(id)).toEqual({ lines: 0, held: 0 });
  });

  test('of a cancelled chunk in the hands of a worker that lives are left to it', async () => {
    const { id, queue } = await submit(2);
    let finish: () => void = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const claimed = new Promise<void>((resolve) => {
      const worker = store.worker(queue, async (job: ChunkJob) => {
        await store.ledger.claim(id, job.id ?? '', 'alive', [1, 2]);
        await store.ledger.markSent(id, job.id ?? '', 'alive', [1, 2]);
        resolve();
        await finished;
      });
      workers.push(worker);
    });
    const alive = { id: 'w', host: 'h', pid: 1, startedAt: 0, inFlight: 2, chunks: 1, done: 0 };
    await claimed;
    await store.ledger.beat({ ...alive, servers: [queue.slice('bulkhead-'.length)] }, 60_000);
    expect(await cluster.cancel(id)).toEqual({ lines: 0, held: 1 });
    expect(await cluster.status(id)).toMatchObject({ state: 'cancelled', answered: 0, finished: false });
    await put(id, [result(1), result(2)]);
    finish();
    const report = await cluster.results(id, { output: temp('out.jsonl'), follow: true });
    expect(report).toMatchObject({ written: 2, complete: true, batch: { outcomes: { ok: 2 } } });
    await store.ledger.beat({ ...alive, servers: [] }, 0);
  });

  test('of a chunk that was given up tell what was sent from what was not', async () => {
    const { id, queue } = await submit(3);
    const worker = store.worker(queue, async (job: ChunkJob) => {
      await store.ledger.claim(id, job.id ?? '', 'w', [1, 2, 3]);
      await store.ledger.markSent(id, job.id ?? '', 'w', [2, 3]);
      await put(id, [result(3)]);
      throw new UnrecoverableError('no such server here');
    });
    workers.push(worker);
    const output = temp('out.jsonl');
    const report = await cluster.results(id, { output, follow: true });
    expect(report).toMatchObject({
      complete: true,
      batch: { outcomes: { ok: 1, outcome_unknown: 1, connection_lost: 1 } },
    });
    const byLine = new Map(
      readFileSync(output, 'utf8')
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text) as { line: number; id: number; error?: { message: string } })
        .map((line) => [line.line, line]),
    );
    expect(byLine.get(1)).toMatchObject({
      id: 1,
      attempts: 0,
      error: {
        code: 'CONNECTION_LOST',
        message: 'line 1 was not sent: its chunk could not be run (no such server here). Submit it again',
      },
    });
    expect(byLine.get(2)).toMatchObject({ attempts: 1, error: { code: 'OUTCOME_UNKNOWN' } });
    expect(await store.queue(queue).getFailed()).toEqual([]);
  });

  test('and all else of a batch are gone once it is removed', async () => {
    const { id, queue } = await submit(300);
    await put(id, [result(1, 'z'.repeat(200_000)), result(2)]);
    await cluster.remove(id);
    expect((await cluster.batches()).map((batch) => batch.id)).not.toContain(id);
    expect(await store.queue(queue).getJobCounts()).toMatchObject({ waiting: 0 });
    expect((await store.ledger.queues()).map((record) => record.queue)).not.toContain(queue);
    // A worker that had a chunk of it writes to nowhere.
    expect(await put(id, [result(2)])).toEqual({ standing: 'cancelled', unreadBytes: 0 });
    expect(await store.ledger.batch(id)).toBeUndefined();
    await expect(cluster.remove(id)).rejects.toThrow('there is no batch');
  });
});
