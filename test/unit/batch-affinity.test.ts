/** What a batch sends in turn: lines with the same affinity, and only what its journal lets go. */
import { PassThrough, Readable } from 'node:stream';
import { BulkheadError } from '@bulkhead/workers';
import { describe, expect, test } from 'vitest';
import { type CallJournal, GivenBack } from '../../packages/runtime/src/batch/journal.js';
import type { BatchOptions, BatchSummary } from '../../packages/runtime/src/batch/options.js';
import { parseRecord } from '../../packages/runtime/src/batch/record.js';
import { runBatch } from '../../packages/runtime/src/batch/run.js';
import { parseLines } from '../cli/cli.js';
import { type FakeCall, FakeRuntime } from '../cli/fake-runtime.js';

interface Line {
  id: number;
  line: number;
  outcome: string;
  attempts: number;
  error?: { code: string };
}

const DONE = '{"content":[]}';
const FAILED = '{"content":[],"isError":true}';
const call = (id: number, affinity: unknown, more: object = {}): object => ({
  id,
  server: 'a',
  tool: 'echo',
  arguments: { id },
  ...(affinity === undefined ? {} : { affinity }),
  ...more,
});
const idOf = ({ json }: FakeCall): number => (JSON.parse(json) as { id: number }).id;

async function run(
  runtime: FakeRuntime,
  calls: object[],
  options: Partial<BatchOptions> = {},
): Promise<{ summary: BatchSummary; lines: Line[] }> {
  const output = new PassThrough().setEncoding('utf8');
  let text = '';
  output.on('data', (piece: string) => {
    text += piece;
  });
  const input = Readable.from([Buffer.from(calls.map((one) => `${JSON.stringify(one)}\n`).join(''))]);
  const summary = await runBatch({ runtime, input, output, ...options });
  return { summary, lines: parseLines<Line>(text) };
}

function moment(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Ends later than it began, so that calls overlap wherever they may. */
const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('affinity', () => {
  test('calls with the same affinity run one after the other in input order, others beside them', async () => {
    const runtime = new FakeRuntime();
    const running = new Map<number, number>();
    const overlaps: number[] = [];
    const order: number[] = [];
    const server = runtime.add('a', async (one) => {
      const id = idOf(one);
      const key = id % 3;
      running.set(key, (running.get(key) ?? 0) + 1);
      if ((running.get(key) ?? 0) > 1) overlaps.push(id);
      order.push(id);
      await later();
      running.set(key, (running.get(key) ?? 0) - 1);
      return DONE;
    });
    const { summary } = await run(
      runtime,
      Array.from({ length: 300 }, (_, id) => call(id, `key ${id % 3}`)),
    );
    expect(summary).toMatchObject({ done: 300, ok: 300 });
    expect(overlaps).toEqual([]);
    for (const key of [0, 1, 2]) {
      const own = order.filter((id) => id % 3 === key);
      expect(own).toEqual([...own].sort((a, b) => a - b));
    }
    expect(server.mostInFlight).toBe(3);
  });

  test('a line keeps its turn between two tries', async () => {
    const runtime = new FakeRuntime();
    const order: number[] = [];
    runtime.add('a', (one) => {
      order.push(idOf(one));
      return order.length === 1 ? FAILED : DONE;
    });
    const { lines } = await run(
      runtime,
      [1, 2, 3].map((id) => call(id, 7, { idempotent: true })),
      { retry: { times: 1 } },
    );
    expect(order).toEqual([1, 1, 2, 3]);
    expect(lines.map(({ id, attempts }) => [id, attempts])).toEqual([
      [1, 2],
      [2, 1],
      [3, 1],
    ]);
  });

  test('the same affinity at two servers is two: neither waits for the other', async () => {
    const runtime = new FakeRuntime();
    const both = [moment(), moment()] as const;
    // Each waits until the other has begun too.
    runtime.add('a', async () => {
      both[0].resolve();
      await both[1].promise;
      return DONE;
    });
    runtime.add('b', async () => {
      both[1].resolve();
      await both[0].promise;
      return DONE;
    });
    const { summary } = await run(runtime, [call(1, 'k'), call(2, 'k', { server: 'b' })]);
    expect(summary.ok).toBe(2);
  });

  test('a server that is gone for good ends a long row of lines that wait for each other', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', async () => {
      server.become('quarantined', { kind: 'exit', message: 'it keeps crashing' });
      return DONE;
    });
    const { summary } = await run(
      runtime,
      Array.from({ length: 1_900 }, (_, id) => call(id, 'k')),
    );
    expect(summary).toMatchObject({ done: 1_900, ok: 1, outcomes: { ok: 1, rejected: 1_899 } });
  });

  test('in order of the input, with more lines than are read ahead', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', async () => {
      await later();
      return DONE;
    });
    const { lines } = await run(
      runtime,
      Array.from({ length: 200 }, (_, id) => call(id, id % 4 === 0 ? undefined : id % 4)),
      { ordered: true, limits: { readAheadLines: 10, readAheadBytes: 200 } },
    );
    expect(lines.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, id) => id));
  });

  test('a whole number and its text are the same affinity', () => {
    const affinityOf = (value: unknown): unknown => {
      const record = parseRecord(JSON.stringify({ server: 'a', tool: 't', affinity: value }));
      return record.kind === 'call' ? record.affinity : record.problem;
    };
    expect(affinityOf(7)).toBe('7');
    expect(affinityOf('7')).toBe('7');
    for (const wrong of ['', 1.5, null, ['a'], 'x'.repeat(257), 2 ** 53]) {
      expect(affinityOf(wrong)).toMatch(/^field "affinity": expected a text of 1 to 256 characters/);
    }
  });
});

/** Lets each line go, or not, as `answer` says. */
function journalOf(answer: (line: number) => Promise<void>): CallJournal {
  return { path: 'the store', fate: () => ({ is: 'new' }), start: answer };
}

describe('a journal that takes its time', () => {
  test('a call is sent only once its line is noted, and the others need not wait for it', async () => {
    const runtime = new FakeRuntime();
    const first = moment();
    const order: number[] = [];
    runtime.add('a', (one) => {
      order.push(idOf(one));
      if (order.length === 2) first.resolve();
      return DONE;
    });
    const journal = journalOf((line) => (line === 1 ? first.promise : Promise.resolve()));
    const { summary } = await run(runtime, [call(1, undefined), call(2, undefined), call(3, undefined)], {
      journal,
    });
    expect(summary.ok).toBe(3);
    expect(order).toEqual([2, 3, 1]);
  });

  test('a line that it refuses ends with its error, unsent', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => DONE);
    const journal = journalOf((line) =>
      line === 2 ? Promise.reject(new BulkheadError('CANCELLED', 'no more')) : Promise.resolve(),
    );
    const { lines } = await run(runtime, [call(1, undefined), call(2, undefined)], { journal });
    expect(new Map(lines.map(({ line, outcome, attempts }) => [line, [outcome, attempts]]))).toEqual(
      new Map([
        [1, ['ok', 1]],
        [2, ['cancelled', 0]],
      ]),
    );
    expect(server.calls).toHaveLength(1);
  });

  test('a line that is given back stops the batch: nothing is written for it, calls in flight end', async () => {
    const runtime = new FakeRuntime();
    const sent = moment();
    const server = runtime.add('a', async () => {
      sent.resolve();
      await later();
      return DONE;
    });
    const journal = journalOf(async (line) => {
      if (line === 1) return;
      await sent.promise;
      throw new GivenBack();
    });
    const { lines, summary } = await run(
      runtime,
      [1, 2, 3].map((id) => call(id, undefined)),
      { journal },
    );
    expect(lines.map(({ line, outcome }) => [line, outcome])).toEqual([[1, 'ok']]);
    expect(summary).toMatchObject({ stopped: 'interrupted', done: 1, notStarted: 2, cause: undefined });
    expect(server.calls).toHaveLength(1);
  });

  test('a line that is given back between two tries ends as the first one did', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', () => FAILED);
    let starts = 0;
    const journal = journalOf(async () => {
      if (++starts > 1) throw new GivenBack();
    });
    const { lines, summary } = await run(runtime, [call(1, undefined, { idempotent: true })], {
      journal,
      retry: { times: 3 },
    });
    expect(lines.map(({ outcome, attempts }) => [outcome, attempts])).toEqual([['tool_error', 1]]);
    expect(summary.notStarted).toBe(0);
  });
});

describe('an idempotency key', () => {
  test('goes with every try of its line, and without one nothing does', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => (server.calls.length === 1 ? FAILED : DONE));
    await run(runtime, [call(1, undefined, { idempotent: true }), call(2, undefined)], {
      idempotencyKey: (line) => `batch:${line}`,
      retry: { times: 1 },
      concurrency: 1,
    });
    const keys = server.calls.map((one) => [idOf(one), one.options.meta]);
    expect(new Set(keys.map((pair) => JSON.stringify(pair)))).toEqual(
      new Set([
        '[1,{"io.github.bulkhead/idempotencyKey":"batch:1"}]',
        '[2,{"io.github.bulkhead/idempotencyKey":"batch:2"}]',
      ]),
    );
    expect(keys).toHaveLength(3);
    const bare = new FakeRuntime();
    const plain = bare.add('a', () => DONE);
    await run(bare, [call(1, undefined)]);
    expect(plain.calls[0]?.options.meta).toBeUndefined();
  });
});
