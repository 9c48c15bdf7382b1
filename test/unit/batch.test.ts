import { PassThrough, Readable, Writable } from 'node:stream';
import { BulkheadError } from '@bulkhead/workers';
import { describe, expect, test } from 'vitest';
import type { BatchOptions, BatchSummary } from '../../packages/runtime/src/batch/options.js';
import { runBatch } from '../../packages/runtime/src/batch/run.js';
import { FakeRuntime, type FakeTool } from '../cli/fake-runtime.js';

interface OutputLine {
  id: unknown;
  line: number;
  server: string | null;
  tool: string | null;
  outcome: string;
  isError: boolean;
  result?: { content: { text: string }[] };
  error?: { code: string; message: string };
  attempts: number;
  timing: { queueMs: number; callMs: number };
}

const echo: FakeTool = ({ json }) => `{"content":[{"type":"text","text":${JSON.stringify(json)}}]}`;

class Collected extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
  get lines(): OutputLine[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as OutputLine);
  }
}

function bytes(lines: (string | object)[], end = '\n'): Readable {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n') + end;
  return Readable.from([Buffer.from(text)]);
}

async function run(
  runtime: FakeRuntime,
  lines: (string | object)[] | Readable,
  options: Partial<BatchOptions> = {},
): Promise<{ summary: BatchSummary; output: Collected; lines: OutputLine[] }> {
  const output = new Collected();
  const input = lines instanceof Readable ? lines : bytes(lines);
  const summary = await runBatch({ runtime, input, output, ...options });
  return { summary, output, lines: output.lines };
}

function call(server: string, id: unknown, args: object = {}): object {
  return { id, server, tool: 'echo', arguments: args };
}

function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe('one line of output for each line of input', () => {
  test('a call gives its id, line, server, tool, outcome, result, attempts and timing', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', echo);
    const { lines, summary } = await run(runtime, [call('a', 'x', { n: 1 })]);
    expect(lines).toEqual([
      {
        id: 'x',
        line: 1,
        server: 'a',
        tool: 'echo',
        outcome: 'ok',
        isError: false,
        result: { content: [{ type: 'text', text: '{"n":1}' }] },
        attempts: 1,
        timing: { queueMs: expect.any(Number), callMs: 1 },
      },
    ]);
    expect(summary).toMatchObject({ lines: 1, done: 1, ok: 1, stopped: undefined, noServerStarted: false });
  });

  test('blank lines are skipped but counted, and a last line without an end is a line', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', echo);
    const text = `\n${JSON.stringify(call('a', 1))}\r\n   \n\n${JSON.stringify(call('a', 2))}`;
    const { lines } = await run(runtime, Readable.from([Buffer.from(text)]));
    expect(lines.map(({ id, line }) => [id, line])).toEqual([
      [1, 2],
      [2, 5],
    ]);
  });

  test('a malformed line becomes BAD_INPUT with its number and the batch goes on', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', echo);
    const { lines, summary } = await run(
      runtime,
      ['{oops', call('a', 2), '[1]', { id: 4, server: 'a', tool: 'echo', arguments: [] }, call('a', 5)],
      { ordered: true },
    );
    expect(lines.map(({ line, outcome, error }) => [line, outcome, error?.code])).toEqual([
      [1, 'rejected', 'BAD_INPUT'],
      [2, 'ok', undefined],
      [3, 'rejected', 'BAD_INPUT'],
      [4, 'rejected', 'BAD_INPUT'],
      [5, 'ok', undefined],
    ]);
    expect(lines[0]?.error?.message).toMatch(/^line 1: not JSON: .*\{oops/);
    expect(lines[3]?.error?.message).toBe('line 4: field "arguments": expected an object, got an array');
    expect(lines[3]?.id).toBe(4);
    expect(lines.every(({ isError, outcome }) => isError === (outcome !== 'ok'))).toBe(true);
    expect(summary).toMatchObject({
      lines: 5,
      done: 5,
      ok: 2,
      badInput: 3,
      outcomes: { ok: 2, rejected: 3 },
    });
  });

  test('the digits of ids, arguments and results survive (B094)', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => '{"content":[],"structuredContent":{"n":1915883588174806058}}');
    const { output } = await run(runtime, [
      '{"id": 9007199254740993, "server": "a", "tool": "echo", "arguments": {"n": 1915883588174806058 }}',
    ]);
    expect(server.calls[0]?.json).toBe('{"n": 1915883588174806058 }');
    expect(output.text).toContain('"id":9007199254740993,');
    expect(output.text).toContain('"result":{"content":[],"structuredContent":{"n":1915883588174806058}}');
  });

  test('a result with line breaks between its tokens stays one line', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', () => '{\r\n  "content": []\n}');
    const { lines, output } = await run(runtime, [call('a', 1)]);
    expect(output.text.trimEnd().split('\n')).toHaveLength(1);
    expect(lines[0]?.result).toEqual({ content: [] });
  });

  test('a full name finds its server, and repeated ids are passed through', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', echo);
    const { lines } = await run(runtime, [
      { id: 1, tool: 'mcp__a__echo' },
      { id: 1, tool: 'mcp__a__echo' },
      { id: 2, tool: 'mcp__a__nosuch' },
    ]);
    expect(
      lines.filter(({ id }) => id === 1).map(({ server, tool, outcome }) => [server, tool, outcome]),
    ).toEqual([
      ['a', 'echo', 'ok'],
      ['a', 'echo', 'ok'],
    ]);
    expect(lines.find(({ id }) => id === 2)?.error?.code).toBe('UNKNOWN_TOOL');
  });

  test('unknown servers and tools are rejected by name', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', echo);
    const { lines } = await run(runtime, [call('b', 1), { id: 2, server: 'a', tool: 'nosuch' }], {
      ordered: true,
    });
    expect(lines.map(({ outcome, error }) => [outcome, error?.code])).toEqual([
      ['rejected', 'UNKNOWN_SERVER'],
      ['rejected', 'UNKNOWN_TOOL'],
    ]);
    expect(lines[0]?.error?.message).toContain('known servers: a');
  });

  test('a tool error keeps its result and is not ok', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', () => '{"isError":true,"content":[{"type":"text","text":"no"}]}');
    const { lines, summary } = await run(runtime, [call('a', 1)]);
    expect(lines[0]).toMatchObject({
      outcome: 'tool_error',
      isError: true,
      result: { content: [{ text: 'no' }] },
    });
    expect(summary.ok).toBe(0);
  });

  test('a failed call gives code, message and how often it was sent', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', () => {
      throw new BulkheadError('TIMEOUT', 'no answer in 5 ms', { data: { attempts: 2 } });
    });
    const { lines } = await run(runtime, [call('a', 1)]);
    expect(lines[0]).toMatchObject({ outcome: 'timeout', attempts: 2, error: { code: 'TIMEOUT' } });
  });

  test('limits of the line win over limits of the batch', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', echo);
    const line = { server: 'a', tool: 'echo', timeoutMs: 7, idempotent: true };
    await run(runtime, [line, call('a', 2)], { timeoutMs: 9 });
    expect(server.calls.map(({ options }) => [options.timeoutMs, options.maxMs, options.idempotent])).toEqual(
      [
        [7, 7, true],
        [9, 9, false],
      ],
    );
  });

  test('input in UTF-16 ends at once with a reason', async () => {
    const runtime = new FakeRuntime();
    const { summary } = await run(runtime, Readable.from([Buffer.from('\ufeff{"a":1}\n', 'utf16le')]));
    expect(summary).toMatchObject({ stopped: 'input-failed', lines: 0 });
    expect(summary.cause?.message).toContain('UTF-16');
  });
});

describe('order', () => {
  test('lines come out as calls end, and with `ordered` as they stood in the input', async () => {
    for (const ordered of [false, true]) {
      const runtime = new FakeRuntime();
      const slow = gate();
      const last = gate();
      runtime.add('a', async (asked) => {
        if (asked.json === '{"slow":true}') await slow.promise;
        if (asked.json === '{"last":true}') last.open();
        return echo(asked);
      });
      void last.promise.then(() => setImmediate(slow.open));
      const input = [call('a', 1, { slow: true }), call('a', 2), call('a', 3), call('a', 4, { last: true })];
      const { lines } = await run(runtime, input, { ordered });
      expect(lines.map(({ id }) => id)).toEqual(ordered ? [1, 2, 3, 4] : [2, 3, 4, 1]);
    }
  });
});

describe('servers', () => {
  test('are started when the first line asks for them, and others not at all', async () => {
    const runtime = new FakeRuntime();
    const used = runtime.add('a', echo, 'stopped');
    const unused = runtime.add('b', echo, 'stopped');
    const { lines } = await run(runtime, [call('a', 1), call('a', 2)]);
    expect(lines.map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
    expect([used.starts, unused.starts]).toEqual([1, 0]);
  });

  test('a server that is still starting holds its own lines only', async () => {
    const runtime = new FakeRuntime();
    const late = gate();
    const slow = runtime.add('slow', echo, 'stopped');
    slow.outcome = late.promise.then(() => 'ready' as const);
    let quick = 0;
    runtime.add('quick', (asked) => {
      if (++quick === 3) setImmediate(late.open);
      return echo(asked);
    });
    const { lines } = await run(runtime, [
      call('slow', 1),
      { id: 2, tool: 'mcp__slow__echo' },
      ...[3, 4, 5].map((id) => call('quick', id)),
    ]);
    expect(lines.map(({ id }) => id).slice(0, 3)).toEqual([3, 4, 5]);
    expect(lines.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  test('a server that cannot start rejects its lines with the true reason', async () => {
    const runtime = new FakeRuntime();
    const broken = runtime.add('broken', echo, 'stopped');
    broken.reason = { kind: 'spawn', message: 'spawn nosuch ENOENT' };
    broken.outcome = Promise.resolve('quarantined');
    const { lines, summary } = await run(runtime, [call('broken', 1), { id: 2, tool: 'mcp__broken__echo' }]);
    expect(lines.map(({ error }) => error?.code)).toEqual(['NOT_READY', 'NOT_READY']);
    expect(lines[1]?.error?.message).toMatch(/"broken".*quarantined: spawn nosuch ENOENT/);
    expect(summary.noServerStarted).toBe(true);
  });

  test('the wait for a server ends after the connect timeout', async () => {
    const runtime = new FakeRuntime();
    runtime.add('stuck', echo, 'connecting');
    const { lines } = await run(runtime, [call('stuck', 1)], { connectTimeoutMs: 20 });
    expect(lines[0]?.error).toMatchObject({
      code: 'NOT_READY',
      message: expect.stringContaining('connecting'),
    });
  });

  test('calls that never reached a restarting server wait for it and run once', async () => {
    const runtime = new FakeRuntime();
    let first = true;
    const server = runtime.add('a', (asked) => {
      if (first) {
        first = false;
        server.become('backoff');
        setImmediate(() => server.become('ready'));
        throw new BulkheadError('CONNECTION_LOST', 'gone');
      }
      return echo(asked);
    });
    const { lines } = await run(runtime, [call('a', 1), call('a', 2)], { concurrency: 1 });
    expect(lines.map(({ id, outcome }) => [id, outcome])).toEqual([
      [1, 'ok'],
      [2, 'ok'],
    ]);
  });

  test('a call that comes back unsent after its server has come to rest gets the reason', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', async () => {
      server.become('quarantined', { kind: 'exit', message: 'it exits at once' });
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      throw new BulkheadError('CONNECTION_LOST', 'gone');
    });
    const { lines } = await run(runtime, [call('a', 1), call('a', 2)], { concurrency: 1 });
    expect(lines.map(({ error }) => error?.message)).toEqual([
      expect.stringContaining('it exits at once'),
      expect.stringContaining('it exits at once'),
    ]);
  });

  test('a server that waits for approval is denied, an unusable entry gives its own reason', async () => {
    const runtime = new FakeRuntime();
    runtime.add('held', echo, 'needs-approval');
    const unavailable = new Map([
      ['bad', { code: 'BAD_CONFIG', message: 'field "command" is missing' } as const],
    ]);
    const { lines } = await run(runtime, [call('held', 1), call('bad', 2)], { unavailable });
    expect(lines.map(({ id, error }) => [id, error?.code]).sort()).toEqual([
      [1, 'DENIED'],
      [2, 'BAD_CONFIG'],
    ]);
  });

  test('a server never has more calls in flight than its window', async () => {
    const runtime = new FakeRuntime();
    const one = runtime.add('one', async (asked) => {
      await new Promise(setImmediate);
      return echo(asked);
    });
    const input = Array.from({ length: 20 }, (_, id) => call('one', id));
    await run(runtime, input, { windows: new Map([['one', 3]]) });
    expect(one.mostInFlight).toBe(3);
  });

  test('a hung server never holds all slots, though its lines come first', async () => {
    const runtime = new FakeRuntime();
    const hung = gate();
    runtime.add('hung', async (asked) => {
      await hung.promise;
      return echo(asked);
    });
    let quick = 0;
    runtime.add('quick', (asked) => {
      if (++quick === 50) hung.open();
      return echo(asked);
    });
    async function* pieces(): AsyncGenerator<Buffer> {
      for (let id = 0; id < 100; id++) yield Buffer.from(`${JSON.stringify(call('hung', id))}\n`);
      for (let id = 100; id < 150; id++) yield Buffer.from(`${JSON.stringify(call('quick', id))}\n`);
    }
    const { lines } = await run(runtime, Readable.from(pieces()), { concurrency: 16 });
    expect(lines).toHaveLength(150);
    expect(lines.slice(0, 50).every(({ server }) => server === 'quick')).toBe(true);
  });
});

describe('memory', () => {
  test('reading stops while the output is full, and nothing is lost when it drains', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', echo);
    let read = 0;
    async function* pieces(): AsyncGenerator<Buffer> {
      for (let id = 0; id < 2_000; id++) {
        read++;
        yield Buffer.from(`${JSON.stringify(call('a', id))}\n`);
      }
    }
    const output = new PassThrough({ highWaterMark: 1_024 });
    const running = runBatch({
      runtime,
      input: Readable.from(pieces()),
      output,
      concurrency: 8,
      limits: { outputBufferBytes: 4_096 },
    });
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    expect(read).toBeLessThan(1_000);
    let text = '';
    output.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    const summary = await running;
    expect(summary.ok).toBe(2_000);
    expect(text.trimEnd().split('\n')).toHaveLength(2_000);
  });

  test('no more lines are held than the read-ahead allows, ordered too', async () => {
    for (const ordered of [false, true]) {
      const runtime = new FakeRuntime();
      const slow = gate();
      let done = 0;
      runtime.add('a', async (asked) => {
        if (asked.json === '{"slow":true}') await slow.promise;
        done++;
        return echo(asked);
      });
      let read = 0;
      async function* pieces(): AsyncGenerator<Buffer> {
        for (let id = 0; id < 500; id++) {
          read++;
          yield Buffer.from(`${JSON.stringify(call('a', id, id === 0 ? { slow: true } : {}))}\n`);
        }
      }
      const input = Readable.from(pieces(), { highWaterMark: 1 });
      const running = run(runtime, input, { ordered, limits: { readAheadLines: 50 }, concurrency: 4 });
      while (done < 49) await new Promise(setImmediate);
      for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
      if (ordered) expect(read).toBeLessThan(60);
      slow.open();
      expect((await running).lines).toHaveLength(500);
    }
  });
});

describe('stopping', () => {
  test('an interrupt stops starting, lets calls end, cancels the rest and writes what is done', async () => {
    const runtime = new FakeRuntime();
    const stop = new AbortController();
    const never = new Promise<string>(() => {});
    let seen = 0;
    const server = runtime.add('a', (asked) => {
      if (++seen === 4) stop.abort();
      return asked.json === '{}' ? echo(asked) : never;
    });
    const input = [
      call('a', 1),
      call('a', 2, { hang: true }),
      call('a', 3),
      call('a', 4),
      call('a', 5),
      call('a', 6),
    ];
    const { lines, summary } = await run(runtime, input, {
      signal: stop.signal,
      concurrency: 2,
      limits: { graceMs: 10 },
    });
    expect(summary).toMatchObject({ stopped: 'interrupted', done: 4, notStarted: 2 });
    expect(lines.map(({ id, outcome }) => [id, outcome])).toEqual([
      [1, 'ok'],
      [3, 'ok'],
      [4, 'ok'],
      [2, 'cancelled'],
    ]);
    expect(server.calls).toHaveLength(4);
  });

  test('an interrupt ends a batch whose input never comes', async () => {
    const runtime = new FakeRuntime();
    const stop = new AbortController();
    const input = new PassThrough();
    const running = run(runtime, input, { signal: stop.signal });
    setImmediate(() => stop.abort());
    expect((await running).summary).toMatchObject({ stopped: 'interrupted', lines: 0 });
    expect(input.destroyed).toBe(true);
  });

  test('an output that breaks ends the batch, cancels its calls and says so', async () => {
    const runtime = new FakeRuntime();
    const server = runtime.add('a', echo);
    const output = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    });
    async function* pieces(): AsyncGenerator<Buffer> {
      for (let id = 0; ; id++) yield Buffer.from(`${JSON.stringify(call('a', id))}\n`);
    }
    const summary = await runBatch({ runtime, input: Readable.from(pieces()), output });
    expect(summary.stopped).toBe('output-failed');
    expect(summary.cause?.message).toContain('EPIPE');
    expect(server.inFlight).toBe(0);
  });

  test('an input that breaks still finishes what was read', async () => {
    const runtime = new FakeRuntime();
    runtime.add('a', echo);
    async function* pieces(): AsyncGenerator<Buffer> {
      yield Buffer.from(`${JSON.stringify(call('a', 1))}\n`);
      throw new Error('read EIO');
    }
    const { lines, summary } = await run(runtime, Readable.from(pieces()));
    expect(lines.map(({ outcome }) => outcome)).toEqual(['ok']);
    expect(summary).toMatchObject({ stopped: 'input-failed', done: 1 });
  });
});
