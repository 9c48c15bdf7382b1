/** What every ledger must do, on each store: nothing is lost, nothing is told twice, and only one holder at a time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type {
  BatchPlan,
  Ledger,
  LineResult,
  ResultPage,
  WorkerRecord,
} from '../../packages/cluster/src/ledger.js';
import { openStore, type Store, type StoreLocation } from '../../packages/cluster/src/store.js';
import { postgresMissing, startPostgres } from '../support/postgres.js';
import { redisMissing, startRedis } from '../support/redis.js';

const plan: BatchPlan = {
  chunkLines: 256,
  priority: 0,
  attempts: 3,
  timeoutMs: 30_000,
  windows: { files: 4, '*': 16 },
  rates: { files: 2.5 },
  shards: 16,
  maxUnreadBytes: 1_000_000,
};
const input = { path: '/data/calls.jsonl', bytes: 1_234, hash: 'abc' };
const span = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
const done = (
  line: number,
  text = JSON.stringify({ line, says: 'naïve "quotes" \\n \u2028 €' }),
): LineResult => ({
  line,
  outcome: 'ok',
  text,
});
const bytesOf = (results: LineResult[]): number =>
  results.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0);
const textsOf = (page: ResultPage): string[] => page.lines.filter((line) => typeof line === 'string');

interface Running {
  location: StoreLocation;
  stop(): Promise<void>;
}

const stores: [string, string | undefined, () => Promise<Running>][] = [
  [
    'Redis',
    redisMissing(),
    async () => {
      const server = await startRedis();
      return { location: { redis: server.url }, stop: () => server.stop() };
    },
  ],
  [
    'PostgreSQL',
    postgresMissing(),
    async () => {
      const server = await startPostgres();
      return { location: { postgres: server.url }, stop: () => server.stop() };
    },
  ],
];

describe.each(stores)('the ledger on %s', (kind, missing, start) => {
  if (missing !== undefined) console.warn(`${kind}: its tests are skipped. ${missing}`);
  describe.skipIf(missing !== undefined)('', () => {
    let server: Running;
    let store: Store;
    let other: Store;
    let ledger: Ledger;
    let id: string;

    beforeAll(async () => {
      server = await start();
      store = await openStore(server.location);
      other = await openStore(server.location);
      ledger = store.ledger;
    });
    afterAll(async () => {
      await store?.close();
      await other?.close();
      await server?.stop();
    });
    beforeEach(async () => {
      id = `b20261130-${randomUUID().slice(0, 8)}`;
      await ledger.create({ id, name: 'nightly', createdAt: 1_796_000_000_123, plan, input });
    });
    afterEach(async () => {
      await ledger.remove(id);
    });

    const put = (results: LineResult[], chunk = 'c1', owner = 'one') =>
      ledger.putResults(id, chunk, owner, results);
    async function everything(
      cursor?: string,
    ): Promise<{ cursor: string | undefined; page: ResultPage['lines'] }> {
      const page: ResultPage['lines'] = [];
      for (;;) {
        const next = await ledger.results(id, cursor, 100_000);
        if (next.lines.length === 0) return { cursor, page };
        cursor = next.cursor;
        page.push(...next.lines);
      }
    }

    describe('batches', () => {
      test('a new batch is there as it was made', async () => {
        expect(await ledger.batch(id)).toEqual({
          ...{ id, name: 'nightly', state: 'open', createdAt: 1_796_000_000_123, plan, input },
          ...{ lines: 0, answered: 0, outcomes: {}, unreadBytes: 0, collected: undefined },
        });
        expect(await ledger.batch('b-unknown')).toBeUndefined();
      });

      test('a batch without an input file says so', async () => {
        const piped = `${id}-piped`;
        await ledger.create({ id: piped, name: '', createdAt: 1, plan, input: undefined });
        expect(await ledger.batch(piped)).toMatchObject({ name: '', input: undefined });
        await ledger.remove(piped);
      });

      test('of two that make the same batch one does, and the other changes nothing', async () => {
        const twin = `${id}-twin`;
        const made = await Promise.all(
          [store, other].map(({ ledger }, index) =>
            ledger.create({ id: twin, name: `maker ${index}`, createdAt: 1, plan, input }),
          ),
        );
        expect(made.filter(Boolean)).toHaveLength(1);
        expect((await ledger.batch(twin))?.name).toBe(`maker ${made.indexOf(true)}`);
        await ledger.remove(twin);
      });

      test('batches are listed by age', async () => {
        const older = `${id}-older`;
        await ledger.create({ id: older, name: '', createdAt: 5, plan, input });
        const ids = (await ledger.batches()).map((batch) => batch.id);
        expect(ids.indexOf(older)).toBeLessThan(ids.indexOf(id));
        expect(ids).toContain(older);
        await ledger.remove(older);
      });

      test('submitting again notes only what is missing, and never fewer lines', async () => {
        const queues = [{ queue: 'bulkhead-files', server: 'files', shard: undefined }];
        const first = [`${id}_bulkhead-files_0`, `${id}_bulkhead-files_1`];
        await ledger.submitted(id, queues, first, 512);
        await ledger.submitted(
          id,
          [...queues, { queue: 'bulkhead-files.s3', server: 'files', shard: 3 }],
          [first[1] ?? '', `${id}_bulkhead-files.s3_0`],
          300,
        );
        const chunks = await ledger.chunks(id);
        expect(chunks.get('bulkhead-files')?.sort()).toEqual(first);
        expect(chunks.get('bulkhead-files.s3')).toEqual([`${id}_bulkhead-files.s3_0`]);
        expect(chunks.size).toBe(2);
        expect((await ledger.batch(id))?.lines).toBe(512);
      });

      test('a queue is known as long as a batch has chunks in it', async () => {
        const queue = { queue: `bulkhead-${id}`, server: id, shard: undefined };
        const shard = { queue: `bulkhead-${id}.s0`, server: id, shard: 0 };
        const second = `${id}-second`;
        await ledger.create({ id: second, name: '', createdAt: 1, plan, input });
        await ledger.submitted(id, [queue, shard], [`${id}_${queue.queue}_0`, `${id}_${shard.queue}_0`], 2);
        await ledger.submitted(second, [queue], [`${second}_${queue.queue}_0`], 1);
        const mine = async () => (await ledger.queues()).filter(({ server }) => server === id);
        expect((await mine()).sort((a, b) => a.queue.localeCompare(b.queue))).toEqual([queue, shard]);
        await ledger.remove(id);
        expect(await mine()).toEqual([queue]);
        await ledger.remove(second);
        expect(await mine()).toEqual([]);
      });

      test('a sealed batch has its final number of lines', async () => {
        await ledger.seal(id, 77);
        expect(await ledger.batch(id)).toMatchObject({ state: 'sealed', lines: 77 });
      });

      test('a cancelled batch stays cancelled when its submitter seals it, a finished one stays finished', async () => {
        await ledger.cancel(id);
        await ledger.seal(id, 3);
        expect(await ledger.batch(id)).toMatchObject({ state: 'cancelled', lines: 3 });
        const finished = `${id}-finished`;
        await ledger.create({ id: finished, name: '', createdAt: 1, plan, input });
        await ledger.putResults(finished, 'c1', 'one', [done(1)]);
        await ledger.seal(finished, 1);
        await ledger.cancel(finished);
        expect((await ledger.batch(finished))?.state).toBe('sealed');
        await ledger.remove(finished);
      });

      test('what is said of a batch that is not there names it', async () => {
        for (const step of [
          () => ledger.seal('b-unknown', 1),
          () => ledger.cancel('b-unknown'),
          () => ledger.submitted('b-unknown', [], ['b-unknown_q_0'], 1),
        ])
          await expect(step()).rejects.toMatchObject({
            code: 'BAD_INPUT',
            message: expect.stringContaining('there is no batch "b-unknown"'),
          });
      });

      test('nothing of a removed batch comes back with what its workers still write', async () => {
        await ledger.claim(id, 'c1', 'one', [1, 2]);
        await put([done(1, 'x'.repeat(100_000))]);
        await ledger.remove(id);
        expect(await put([done(2, 'y'.repeat(100_000))])).toEqual({ standing: 'cancelled', unreadBytes: 0 });
        expect(await ledger.markSent(id, 'c1', 'one', [2])).toBe('cancelled');
        const claim = await ledger.claim(id, 'c1', 'two', [1, 2]);
        expect(claim).toEqual({ state: 'cancelled', answered: new Set([1, 2]), sent: new Set() });
        expect(await ledger.batch(id)).toBeUndefined();
        expect((await ledger.results(id, undefined, 1_000)).lines).toEqual([]);
        expect((await ledger.chunks(id)).size).toBe(0);
      });
    });

    describe('a chunk', () => {
      test('its next owner learns which lines are answered and which were only sent', async () => {
        const lines = [1, 2, 3, 4_095, 4_096, 1_000_000];
        expect(await ledger.claim(id, 'c1', 'one', lines)).toEqual({
          ...{ state: 'open', answered: new Set(), sent: new Set() },
        });
        expect(await ledger.markSent(id, 'c1', 'one', [1, 4_095, 4_096])).toBe('owner');
        await put([done(4_095), done(3)]);
        await ledger.seal(id, 6);
        expect(await ledger.claim(id, 'c1', 'two', lines)).toEqual({
          state: 'sealed',
          answered: new Set([3, 4_095]),
          sent: new Set([1, 4_096]),
        });
      });

      test('whoever had it can send nothing more, but a late answer is taken', async () => {
        await ledger.claim(id, 'c1', 'one', [1, 2]);
        await ledger.claim(id, 'c1', 'two', [1, 2]);
        expect(await ledger.markSent(id, 'c1', 'one', [1])).toBe('fenced');
        expect(await ledger.markSent(id, 'c1', 'two', [2])).toBe('owner');
        expect((await put([done(1)], 'c1', 'one')).standing).toBe('fenced');
        const claim = await ledger.claim(id, 'c1', 'three', [1, 2]);
        expect(claim).toMatchObject({ answered: new Set([1]), sent: new Set([2]) });
      });

      test('what was noted and then not sent is new again, unless the chunk is another one’s', async () => {
        await ledger.claim(id, 'c1', 'one', [1, 2, 4_096]);
        await ledger.markSent(id, 'c1', 'one', [1, 2, 4_096]);
        await ledger.unmarkSent(id, 'c1', 'one', [1, 4_096]);
        expect((await ledger.claim(id, 'c1', 'two', [1, 2, 4_096])).sent).toEqual(new Set([2]));
        await ledger.unmarkSent(id, 'c1', 'one', [2]);
        expect((await ledger.claim(id, 'c1', 'three', [1, 2, 4_096])).sent).toEqual(new Set([2]));
      });

      test('another chunk of the same worker is not fenced with it', async () => {
        await ledger.claim(id, 'c1', 'one', [1]);
        await ledger.claim(id, 'c2', 'one', [2]);
        await ledger.claim(id, 'c1', 'two', [1]);
        expect(await ledger.markSent(id, 'c2', 'one', [2])).toBe('owner');
        expect(await ledger.markSent(id, 'c3', 'one', [2])).toBe('fenced');
      });

      test('of a cancelled batch sends nothing more, and its results are taken', async () => {
        await ledger.claim(id, 'c1', 'one', [1, 2]);
        await ledger.markSent(id, 'c1', 'one', [1]);
        await ledger.cancel(id);
        expect(await ledger.markSent(id, 'c1', 'one', [2])).toBe('cancelled');
        expect((await put([done(1)])).standing).toBe('cancelled');
        expect(await ledger.claim(id, 'c1', 'two', [1, 2])).toEqual({
          state: 'cancelled',
          answered: new Set([1]),
          sent: new Set(),
        });
      });

      test('two owners in turn: every line is sent by one of them at most', async () => {
        const lines = span(1, 2_000);
        const sent = new Map<string, number[]>();
        async function work(ledger: Ledger, owner: string): Promise<void> {
          const mine: number[] = [];
          sent.set(owner, mine);
          const claim = await ledger.claim(id, 'c1', owner, lines);
          for (let at = 0; at < lines.length; at += 20) {
            const next = lines.slice(at, at + 20).filter((n) => !claim.answered.has(n) && !claim.sent.has(n));
            if ((await ledger.markSent(id, 'c1', owner, next)) !== 'owner') return;
            mine.push(...next);
            if (owner === 'one' && mine.length === 400) second = work(other.ledger, 'two');
          }
        }
        let second: Promise<void> | undefined;
        await work(ledger, 'one');
        await second;
        const all = [...(sent.get('one') ?? []), ...(sent.get('two') ?? [])];
        expect(sent.get('one')?.length).toBeLessThan(2_000);
        expect(all.sort((a, b) => a - b)).toEqual(lines);
      });

      test('a line that is sent while its chunk is taken over is known to the new owner, or not sent', async () => {
        const wrong: number[] = [];
        for (const line of span(1, 200)) {
          const chunk = `c${line}`;
          await ledger.claim(id, chunk, 'one', [line]);
          const [standing, claim] = await Promise.all([
            ledger.markSent(id, chunk, 'one', [line]),
            other.ledger.claim(id, chunk, 'two', [line]),
          ]);
          if (claim.sent.has(line) !== (standing === 'owner')) wrong.push(line);
        }
        expect(wrong).toEqual([]);
      });
    });

    describe('results', () => {
      test('a line keeps its first result', async () => {
        const first = [done(1), done(2)];
        expect(await put(first)).toEqual({ standing: 'fenced', unreadBytes: bytesOf(first) });
        await put([done(2, '"late"'), { ...done(3), outcome: 'timeout' }, done(1, '"late"')]);
        await put([done(4, '"a"'), done(4, '"b"')]);
        const { page } = await everything();
        expect(page).toEqual([done(1).text, done(2).text, done(3).text, '"a"']);
        expect(await ledger.batch(id)).toMatchObject({ answered: 4, outcomes: { ok: 3, timeout: 1 } });
        expect((await put([done(1)])).unreadBytes).toBe(bytesOf([...first, done(3), done(4, '"a"')]));
        expect((await put([])).unreadBytes).toBe(bytesOf([...first, done(3), done(4, '"a"')]));
      });

      test('10 000 lines from two writers who both hold all of them are there once each', async () => {
        const lines = span(1, 10_000);
        const texts = new Map(lines.map((line) => [line, done(line).text]));
        const write = async (ledger: Ledger, order: number[]): Promise<void> => {
          for (let at = 0; at < order.length; at += 500)
            await ledger.putResults(
              id,
              'c1',
              'one',
              order.slice(at, at + 500).map((line) => done(line)),
            );
        };
        const read: string[] = [];
        let isWriting = true;
        const follow = async (): Promise<void> => {
          for (let cursor: string | undefined; ; ) {
            const last = !isWriting;
            const page = await other.ledger.results(id, cursor, 50_000);
            cursor = page.cursor;
            read.push(...textsOf(page));
            if (last && page.lines.length === 0) return;
          }
        };
        const reader = follow();
        await Promise.all([write(ledger, lines), write(other.ledger, [...lines].reverse())]);
        isWriting = false;
        await reader;
        expect(read.length).toBe(10_000);
        expect(new Set(read)).toEqual(new Set(texts.values()));
        expect(await ledger.batch(id)).toMatchObject({
          answered: 10_000,
          outcomes: { ok: 10_000 },
          unreadBytes: bytesOf(lines.map((line) => done(line))),
        });
      });

      test('a long line is kept apart and joined again, every character of it', async () => {
        const long = JSON.stringify({ text: '€'.repeat(700_000) });
        await put([done(1), done(2, long), done(3)]);
        const { page, cursor } = await everything();
        expect(page.map((line) => (typeof line === 'string' ? line : line.line))).toEqual([
          done(1).text,
          2,
          done(3).text,
        ]);
        const reference = page.find((line) => typeof line !== 'string');
        expect(reference?.bytes).toBe(Buffer.byteLength(long));
        const pieces: Buffer[] = [];
        for await (const piece of ledger.blob(id, reference?.blob ?? '')) pieces.push(piece);
        expect(pieces.length).toBeGreaterThan(1);
        expect(Buffer.concat(pieces).toString() === long).toBe(true);
        await ledger.collected(id, cursor ?? '', '/out/results.jsonl');
        await expect(
          ledger
            .blob(id, reference?.blob ?? '')
            [Symbol.asyncIterator]()
            .next(),
        ).rejects.toThrow(/line 2 .* is gone/);
      });

      test('a second result of a long line leaves the first one whole', async () => {
        await put([done(1, 'x'.repeat(200_000))]);
        await put([done(1, 'y'.repeat(200_000)), done(2)]);
        const [reference, second, ...more] = (await everything()).page;
        expect(second).toBe(done(2).text);
        expect(more).toEqual([]);
        let text = '';
        if (typeof reference === 'object')
          for await (const piece of ledger.blob(id, reference.blob)) text += piece.toString();
        expect(text === 'x'.repeat(200_000)).toBe(true);
      });

      test('a page holds at least one entry, and a cursor goes on behind it', async () => {
        for (const line of [1, 2, 3]) await put([done(line)]);
        const first = await ledger.results(id, undefined, 1);
        expect(textsOf(first)).toEqual([done(1).text]);
        const second = await ledger.results(id, first.cursor, 1);
        expect(textsOf(second)).toEqual([done(2).text]);
        const { cursor } = await everything(second.cursor);
        const end = await ledger.results(id, cursor, 1_000);
        expect(end).toEqual({ cursor, lines: [] });
        await put([done(4)]);
        expect(textsOf(await ledger.results(id, end.cursor, 1_000))).toEqual([done(4).text]);
      });

      test('an empty batch has a first page from which later results are found', async () => {
        const none = await ledger.results(id, undefined, 1_000);
        expect(none.lines).toEqual([]);
        await put([done(1)]);
        expect(textsOf(await ledger.results(id, none.cursor, 1_000))).toEqual([done(1).text]);
      });

      test('what is collected makes room, and where it went is told', async () => {
        await put([done(1), done(2)]);
        const half = await ledger.results(id, undefined, 1_000);
        await put([done(3)]);
        await ledger.collected(id, half.cursor, '/out/results.jsonl');
        expect(await ledger.batch(id)).toMatchObject({
          ...{ answered: 3, unreadBytes: bytesOf([done(3)]) },
          collected: { lines: 2, to: '/out/results.jsonl' },
        });
        await ledger.collected(id, half.cursor, '/out/again.jsonl');
        expect((await ledger.batch(id))?.collected).toEqual({ lines: 2, to: '/out/results.jsonl' });
        expect(textsOf(await ledger.results(id, undefined, 1_000))).toEqual([done(3).text]);
        expect((await ledger.claim(id, 'c1', 'two', [1, 2, 3])).answered).toEqual(new Set([1, 2, 3]));
      });
    });

    // Expiry is by the store's clock: time must pass.
    describe('the fleet', () => {
      const worker: WorkerRecord = {
        ...{ id: 'w1', host: 'ant', pid: 12, startedAt: 1, servers: ['files'] },
        ...{ inFlight: 3, chunks: 1, done: 70 },
      };

      test('a worker is there until it has been silent for its time, or says that it goes', async () => {
        await ledger.beat(worker, 60_000);
        await ledger.beat({ ...worker, id: 'w2' }, 60_000);
        await ledger.beat({ ...worker, done: 71 }, 60_000);
        const known = async () => (await ledger.workers()).sort((a, b) => a.id.localeCompare(b.id));
        expect(await known()).toEqual([
          { ...worker, done: 71 },
          { ...worker, id: 'w2' },
        ]);
        await ledger.beat(worker, 1);
        await ledger.beat({ ...worker, id: 'w2' }, 0);
        await wait(5);
        expect(await known()).toEqual([]);
      });

      test('a lease has one holder, who may renew it, until it is given back or runs out', async () => {
        const name = `shard-${id}`;
        expect(await ledger.lease(name, 'one', 60_000)).toBe(true);
        expect(await other.ledger.lease(name, 'two', 60_000)).toBe(false);
        expect(await ledger.lease(name, 'one', 60_000)).toBe(true);
        await ledger.release(name, 'two');
        expect(await other.ledger.lease(name, 'two', 60_000)).toBe(false);
        expect(await other.ledger.isLeased(name)).toBe(true);
        await ledger.release(name, 'one');
        expect(await other.ledger.lease(name, 'two', 20)).toBe(true);
        await wait(30);
        expect(await ledger.isLeased(name)).toBe(false);
        expect(await ledger.lease(name, 'one', 60_000)).toBe(true);
        expect(await ledger.lease(name, 'two', 60_000)).toBe(false);
        await ledger.release(name, 'one');
      });

      test('of many who want a lease at once one gets it', async () => {
        const name = `race-${id}`;
        const got = await Promise.all(
          span(1, 20).map((n) => (n % 2 ? store : other).ledger.lease(name, `owner ${n}`, 60_000)),
        );
        expect(got.filter(Boolean)).toHaveLength(1);
        await ledger.release(name, `owner ${got.indexOf(true) + 1}`);
      });

      test('places are never more than the limit, and come back when they are given back or run out', async () => {
        const name = `window-${id}`;
        expect(await ledger.places(name, 'one', 3, 5, 60_000)).toBe(3);
        expect(await ledger.places(name, 'two', 4, 5, 60_000)).toBe(2);
        expect(await ledger.places(name, 'three', 1, 5, 60_000)).toBe(0);
        expect(await ledger.places(name, 'one', 5, 5, 60_000)).toBe(3);
        expect(await ledger.places(name, 'one', 1, 5, 60_000)).toBe(1);
        expect(await ledger.places(name, 'three', 4, 5, 20)).toBe(2);
        await wait(30);
        expect(await ledger.places(name, 'two', 4, 5, 60_000)).toBe(4);
        await ledger.release(name, 'two');
        expect(await ledger.places(name, 'one', 9, 5, 60_000)).toBe(5);
        await ledger.release(name, 'one');
      });

      test('places that many want at once add up to the limit', async () => {
        const name = `crowd-${id}`;
        const got = await Promise.all(
          span(1, 20).map((n) => (n % 2 ? store : other).ledger.places(name, `owner ${n}`, 3, 10, 60_000)),
        );
        expect(got.reduce((sum, count) => sum + count, 0)).toBe(10);
      });

      test('of many who ask for the one permit at once one gets it', async () => {
        const name = `rush-${id}`;
        await ledger.permits(name, 1, 1_000);
        await wait(10);
        const waits = await Promise.all(
          span(1, 20).map((n) => (n % 2 ? store : other).ledger.permits(name, 1, 1)),
        );
        expect(waits.filter((ms) => ms === 0)).toHaveLength(1);
      });

      test('permits are granted at the pace of the rate, whoever asks', async () => {
        const name = `rate-${id}`;
        expect(await ledger.permits(name, 5, 5)).toBe(0);
        const wait1 = await other.ledger.permits(name, 1, 5);
        expect(wait1).toBeGreaterThan(500);
        expect(wait1).toBeLessThanOrEqual(1_000);
        // A refusal costs nothing.
        expect(await ledger.permits(name, 1, 5)).toBeLessThanOrEqual(wait1);
        expect(await ledger.permits(`${name}-2`, 1, 5)).toBe(0);
        // At 200 a second, 100 after the first 20 take at least 0.4 s.
        const begin = performance.now();
        let granted = 0;
        while (granted < 100) {
          const waitMs = await (granted % 20 ? store : other).ledger.permits(`${name}-3`, 10, 200);
          if (waitMs === 0) granted += 10;
          else await wait(waitMs);
        }
        expect(performance.now() - begin).toBeGreaterThan(300);
      });
    });

    test('the check of a store that works warns at most', async () => {
      for (const warning of await ledger.check()) expect(warning.length).toBeGreaterThan(20);
    });
  });
});
