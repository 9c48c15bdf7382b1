import { PassThrough, Readable } from 'node:stream';
import { BulkheadError, type ErrorCode } from '@bulkhead/workers';
import { describe, expect, test } from 'vitest';
import type { BatchOptions, BatchSummary } from '../../packages/runtime/src/batch/options.js';
import { parseRate, TokenBucket } from '../../packages/runtime/src/batch/rate.js';
import { mayRetry, pauseMs } from '../../packages/runtime/src/batch/retry.js';
import { runBatch } from '../../packages/runtime/src/batch/run.js';
import { parseLines } from '../cli/cli.js';
import { FakeRuntime } from '../cli/fake-runtime.js';

interface Line {
  id: number;
  outcome: string;
  attempts: number;
  valid?: boolean;
  error?: { code: string; message: string };
}

const DONE = '{"content":[]}';
const FAILED = '{"content":[],"isError":true}';
const call = (id: number, more: object = {}): object => ({
  id,
  server: 'a',
  tool: 'echo',
  arguments: { id },
  ...more,
});

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

describe('a token bucket', () => {
  test('gives exactly its rate over time, whatever the callers do', () => {
    const bucket = new TokenBucket(10, 0);
    let now = 0;
    for (let taken = 0; taken < 100; taken++) now += bucket.take(now);
    expect(now).toBeCloseTo(10_000, 3);
  });

  test('after a rest it holds a twentieth of a second, not everything that was left unused', () => {
    const bucket = new TokenBucket(100, 0);
    let burst = 0;
    while (bucket.take(60_000) === 0) burst++;
    expect(burst).toBe(4); // the fifth is taken too, and the sixth has to wait
  });

  test.each([
    ['10/s', undefined, 10],
    ['search=90/m', 'search', 1.5],
    ['a=b=3600/h', 'a=b', 1],
    ['0.5/s', undefined, 0.5],
  ])('%s is understood', (text, server, perSecond) => {
    expect(parseRate(text)).toEqual({ server, perSecond });
  });

  test.each(['', '10', '10/d', '0/s', '-1/s', '=1/s', 'a=', '1e9/s'])('"%s" is refused', (text) => {
    expect(() => parseRate(text)).toThrow(/expected a rate such as 10\/s/);
  });
});

describe('a batch with a rate', () => {
  test('spreads the calls of that server over time, and those of others not at all', async () => {
    const runtime = new FakeRuntime();
    const times: number[] = [];
    runtime.add('a', () => {
      times.push(performance.now());
      return DONE;
    });
    const free: number[] = [];
    runtime.add('b', () => {
      free.push(performance.now());
      return DONE;
    });
    const calls = Array.from({ length: 10 }, (_, id) => [call(id), call(100 + id, { server: 'b' })]).flat();
    const { summary } = await run(runtime, calls, { rates: new Map([['a', 50]]) });
    expect(summary.ok).toBe(20);
    const [first = 0] = times;
    // 10 calls at 50/s, of which two may start at once: timers are never early by more than their millisecond.
    expect((times.at(-1) ?? 0) - first).toBeGreaterThan(140);
    expect(Math.max(...free)).toBeLessThan(times[5] ?? 0);
  });
});

describe('which ends are worth another try', () => {
  const error = (code: ErrorCode, retryable?: boolean): BulkheadError =>
    new BulkheadError(code, 'x', retryable === undefined ? {} : { retryable });
  const strict = { idempotent: false, unsafe: false };

  test.each<[ErrorCode, boolean, boolean]>([
    ['CONNECTION_LOST', true, true],
    ['BREAKER_OPEN', true, true],
    ['NOT_READY', true, true],
    ['MAILBOX_FULL', true, true],
    ['TIMEOUT', false, true],
    ['OUTCOME_UNKNOWN', false, true],
    ['PROTOCOL_ERROR', false, true],
    ['POISON_CALL', false, false],
    ['CANCELLED', false, false],
    ['TOO_LARGE', false, false],
    ['UNKNOWN_TOOL', false, false],
    ['DENIED', false, false],
  ])('%s: %s, and %s for idempotent or unsafe ones', (code, always, harmless) => {
    const one = error(code);
    expect(mayRetry(one.outcome, one, strict)).toBe(always);
    expect(mayRetry(one.outcome, one, { idempotent: true, unsafe: false })).toBe(harmless);
    expect(mayRetry(one.outcome, one, { idempotent: false, unsafe: true })).toBe(harmless);
  });

  test('a timeout of a call that was never sent is one', () => {
    expect(mayRetry('timeout', error('TIMEOUT', true), strict)).toBe(true);
  });

  test('pauses double up to ten seconds, shortened by up to a quarter', () => {
    expect([1, 2, 3, 20].map((attempt) => pauseMs(attempt, 0))).toEqual([200, 400, 800, 10_000]);
    // The most that chance can take off is a quarter.
    expect([pauseMs(1, 0.5), pauseMs(2, 1)]).toEqual([175, 300]);
  });
});

describe('a batch with retries', () => {
  test('tries an idempotent line again and counts its attempts; any other ends at once', async () => {
    const runtime = new FakeRuntime();
    const tries = new Map<number, number>();
    runtime.add('a', ({ json }) => {
      const { id } = JSON.parse(json) as { id: number };
      tries.set(id, (tries.get(id) ?? 0) + 1);
      return tries.get(id) === 2 ? DONE : FAILED;
    });
    const { lines } = await run(runtime, [call(1, { idempotent: true }), call(2)], {
      retry: { times: 2 },
      ordered: true,
    });
    expect(lines).toMatchObject([
      { id: 1, outcome: 'ok', attempts: 2 },
      { id: 2, outcome: 'tool_error', attempts: 1 },
    ]);
  });

  test('unsafe: every line is tried again, up to the number of tries', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => FAILED);
    const { lines } = await run(runtime, [call(1)], { retry: { times: 2, unsafe: true } });
    expect(lines).toMatchObject([{ outcome: 'tool_error', attempts: 3 }]);
    expect(server.calls).toHaveLength(3);
  });

  test('a refusal that passes is tried again though the line is not idempotent: it never ran', async () => {
    const runtime = new FakeRuntime();
    let refusals = 2;
    runtime.add('a', () => {
      if (refusals-- > 0) throw new BulkheadError('BREAKER_OPEN', 'x', { data: { attempts: 0 } });
      return DONE;
    });
    const { lines } = await run(runtime, [call(1)], { retry: { times: 3 } });
    expect(lines).toMatchObject([{ outcome: 'ok', attempts: 1 }]);
  });

  test('an interrupt writes the last end of lines that wait for another try', async () => {
    const runtime = new FakeRuntime();
    const stop = new AbortController();
    runtime.add('a', () => {
      setImmediate(() => stop.abort());
      return FAILED;
    });
    const { lines, summary } = await run(runtime, [call(1, { idempotent: true })], {
      retry: { times: 9 },
      signal: stop.signal,
    });
    expect(lines).toMatchObject([{ id: 1, outcome: 'tool_error', attempts: 1 }]);
    expect(summary).toMatchObject({ stopped: 'interrupted', done: 1, notStarted: 0 });
  });

  test('a server that comes to rest meanwhile: the line ends as its last try did', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => {
      server.outcome = Promise.resolve('quarantined');
      setImmediate(() => server.become('quarantined'));
      return FAILED;
    });
    const { lines } = await run(runtime, [call(1, { idempotent: true })], { retry: { times: 3 } });
    expect(lines).toMatchObject([{ id: 1, outcome: 'tool_error', attempts: 1 }]);
  });

  test('in order, a line that comes back is found although too much waits for it', async () => {
    const runtime = new FakeRuntime();
    const tries = new Map<number, number>();
    const long = 'x'.repeat(2_000);
    runtime.add('a', ({ json }) => {
      const { id } = JSON.parse(json) as { id: number };
      tries.set(id, (tries.get(id) ?? 0) + 1);
      const fails = id < 4 && (tries.get(id) ?? 0) <= 2;
      return `{"content":[{"type":"text","text":"${long}"}],"isError":${fails}}`;
    });
    const { lines } = await run(
      runtime,
      Array.from({ length: 40 }, (_, id) => call(id, { idempotent: true })),
      {
        retry: { times: 3 },
        ordered: true,
        concurrency: 4,
        limits: { readAheadBytes: 5_000 },
      },
    );
    expect(lines.map(({ id }) => id)).toEqual(Array.from({ length: 40 }, (_, id) => id));
    expect(lines.every(({ outcome }) => outcome === 'ok')).toBe(true);
  });
});

describe('stopping early, and not starting at all', () => {
  test('fail-fast: nothing is started after the first line that is not ok', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', ({ json }) => (json.includes(':3}') ? FAILED : DONE));
    const calls = Array.from({ length: 20 }, (_, id) => call(id));
    const { lines, summary } = await run(runtime, calls, { failFast: true, concurrency: 1 });
    expect(lines.map(({ id, outcome }) => [id, outcome])).toEqual([
      [0, 'ok'],
      [1, 'ok'],
      [2, 'ok'],
      [3, 'tool_error'],
    ]);
    expect(summary).toMatchObject({ stopped: 'failed-fast', done: 4, notStarted: 16 });
    expect(server.calls).toHaveLength(4);
  });

  test('a dry run says of every line whether its arguments fit, and calls nothing', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => DONE);
    for (const tool of server.tools) {
      tool.inputSchema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
    }
    const calls = [
      call(1),
      call(2, { arguments: { id: 'two' } }),
      call(3, { tool: 'nosuch' }),
      call(4, { args: {}, arguments: undefined }),
      call(5, { server: 'nowhere' }),
    ];
    const { lines, summary } = await run(runtime, calls, { dryRun: true, ordered: true });
    expect(lines.map(({ valid, error }) => [valid, error?.code])).toEqual([
      [true, undefined],
      [false, 'INVALID_ARGUMENTS'],
      [false, 'UNKNOWN_TOOL'],
      [false, 'BAD_INPUT'],
      [false, 'UNKNOWN_SERVER'],
    ]);
    expect(lines[1]?.error?.message).toBe(
      'line 2: the arguments do not fit "echo" of "a": "id": must be integer',
    );
    expect(summary).toMatchObject({ ok: 1, done: 5 });
    expect(server.calls).toEqual([]);
  });
});
