import {
  appendFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { finished } from 'node:stream/promises';
import { startOf } from '@bulkhead/workers';
import { describe, expect, test } from 'vitest';
import { openJournal } from '../../packages/runtime/src/batch/journal.js';
import type { BatchOptions, BatchSummary } from '../../packages/runtime/src/batch/options.js';
import { runBatch } from '../../packages/runtime/src/batch/run.js';
import { parseLines, writeLines } from '../cli/cli.js';
import { FakeRuntime } from '../cli/fake-runtime.js';
import { useTempDir } from '../support/temp-dir.js';

const path = useTempDir();
const out = (): string => path('out.jsonl');
const journalPath = (): string => `${out()}.journal`;
const calls = (count: number): object[] =>
  Array.from({ length: count }, (_, id) => ({ id, server: 'a', tool: 'echo', arguments: { id } }));
const result = (line: number, outcome = 'ok', id: unknown = line): string =>
  JSON.stringify({ id, line, server: 'a', tool: 'echo', outcome, isError: outcome !== 'ok', attempts: 1 });
const input = (): string => path('in.jsonl');
const open = (): ReturnType<typeof openJournal> => openJournal({ input: input(), output: out() });

/** As a run leaves it that was killed: its results, and the lines that it had started. */
async function killed(results: string, started: string): Promise<void> {
  for (const file of [out(), journalPath()]) rmSync(file, { force: true });
  await (await open()).close(false);
  writeFileSync(out(), results);
  appendFileSync(journalPath(), started);
}

describe('what a killed run left', () => {
  test('lines are new, done, or started without a result', async () => {
    writeLines(input(), calls(5));
    await killed(`${result(1)}\n${result(3, 'timeout')}\n`, '1\n2\n3\n');
    const journal = await open();
    expect([1, 2, 3, 4].map((line) => journal.fate(line).is)).toEqual(['done', 'unknown', 'done', 'new']);
    expect(journal.earlier).toEqual({ done: 2, failed: 1 });
    await journal.close(false);
  });

  test('a torn last line is cut off at any byte, and what stands before it stays', async () => {
    writeLines(input(), calls(5));
    const whole = `${result(1)}\n`;
    const torn = result(2);
    for (let at = 1; at <= torn.length; at += 7) {
      await killed(whole + torn.slice(0, at), '1\n2\n');
      const journal = await open();
      expect(readFileSync(out(), 'utf8'), `torn at ${at}`).toBe(whole);
      expect(journal.fate(2).is).toBe('unknown');
      await journal.close(true);
    }
  });

  test('a torn last number of the journal was never sent', async () => {
    writeLines(input(), calls(200));
    await killed('', '1\n12');
    const journal = await open();
    expect([1, 12].map((line) => journal.fate(line).is)).toEqual(['unknown', 'new']);
    await journal.close(false);
  });

  test('a result that is lost later does not make its line run again', async () => {
    writeLines(input(), calls(2));
    await killed(`${result(1)}\n`, '1\n');
    await (await open()).close(false);
    writeFileSync(out(), '');
    const journal = await open();
    expect(journal.fate(1).is).toBe('unknown');
    await journal.close(false);
  });

  test.each([
    [{ deep: { line: 9, outcome: 'x' } }],
    ['a "quoted" \\ id,"line":7'],
    [1.5],
    [[1, { line: 3 }]],
    [null],
  ])('the number of a line is found behind the id %j', async (id) => {
    writeLines(input(), calls(5));
    await killed(`${result(4, 'ok', id)}\n`, '4\n');
    const journal = await open();
    expect([3, 4, 7, 9].map((line) => journal.fate(line).is)).toEqual(['new', 'done', 'new', 'new']);
    await journal.close(false);
  });

  test('a file that is no results file is refused and left alone', async () => {
    writeLines(input(), calls(5));
    writeFileSync(out(), 'precious\nnotes');
    await expect(open()).rejects.toMatchObject({ code: 'BAD_INPUT' });
    expect(readFileSync(out(), 'utf8')).toBe('precious\nnotes');
  });

  test('results whose journal is there, but which are gone themselves, are asked for', async () => {
    writeLines(input(), calls(1));
    await (await open()).close(false);
    rmSync(out());
    await expect(open()).rejects.toThrow(/not its results/);
  });

  test('a journal of a process that still runs is refused', async () => {
    writeLines(input(), calls(1));
    await (await open()).close(false);
    const [header = '{}'] = readFileSync(journalPath(), 'utf8').split('\n');
    const other = { ...(JSON.parse(header) as object), pid: process.ppid, start: startOf(process.ppid) };
    writeFileSync(journalPath(), `${JSON.stringify(other)}\n`);
    await expect(open()).rejects.toThrow(`process ${process.ppid} is still running`);
  });
});

describe('a run with a journal', () => {
  async function run(runtime: FakeRuntime, options: Partial<BatchOptions> = {}): Promise<BatchSummary> {
    const ordered = options.ordered ?? false;
    const journal = await openJournal({ input: input(), output: out(), ordered });
    const output = createWriteStream(out(), { flags: 'a' });
    const summary = await runBatch({
      runtime,
      input: createReadStream(input()),
      output,
      journal,
      ...options,
    });
    output.end();
    await finished(output);
    await journal.close(summary.stopped === undefined);
    return summary;
  }

  test('a line is in the journal before its call is sent', async () => {
    writeLines(input(), calls(100));
    const runtime = new FakeRuntime();
    const missing: string[] = [];
    runtime.add('a', ({ json }) => {
      const line = String(JSON.parse(json).id + 1);
      if (!readFileSync(journalPath(), 'utf8').split('\n').includes(line)) missing.push(line);
      return '{"content":[]}';
    });
    const summary = await run(runtime);
    expect(summary).toMatchObject({ ok: 100, skipped: 0 });
    expect(missing).toEqual([]);
    expect(existsSync(journalPath())).toBe(false);
  });

  test('an idempotent line whose fate is unknown runs again, any other is reported', async () => {
    const lines = calls(3).map((call, index) => (index === 1 ? { ...call, idempotent: true } : call));
    writeLines(input(), lines);
    await killed('', '1\n2\n');
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => '{"content":[]}');
    expect(await run(runtime)).toMatchObject({ done: 3, ok: 2, outcomes: { outcome_unknown: 1 } });
    expect(server.calls.map(({ json }) => JSON.parse(json).id)).toEqual([1, 2]);
  });

  test('interrupted in order: answers that wait for an earlier line are kept for the next run, not called again', async () => {
    writeLines(input(), calls(10));
    const runtime = new FakeRuntime();
    const stop = new AbortController();
    let answered = 0;
    const server = runtime.add('a', ({ json }) => {
      const { id } = JSON.parse(json) as { id: number };
      if (id === 2) return new Promise(() => {});
      if (++answered === 9) setImmediate(() => stop.abort());
      return `{"content":[{"type":"text","text":"answer ${id}"}]}`;
    });
    const first = await run(runtime, { ordered: true, signal: stop.signal, limits: { graceMs: 20 } });
    expect(first.stopped).toBe('interrupted');
    expect(existsSync(journalPath())).toBe(true);
    const before = server.calls.length;
    const second = await run(runtime, { ordered: true });
    expect(second.stopped).toBeUndefined();
    const lines = parseLines<{ line: number; outcome: string }>(readFileSync(out(), 'utf8'));
    expect(lines.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(lines.filter(({ outcome }) => outcome !== 'ok')).toMatchObject([
      { line: 3, outcome: 'cancelled' },
    ]);
    expect(server.calls).toHaveLength(before);
  });

  test('a journal that cannot be written stops the batch before the call', async () => {
    writeLines(input(), calls(3));
    const runtime = new FakeRuntime();
    const server = runtime.add('a', () => '{"content":[]}');
    const journal = await openJournal({ input: input(), output: out() });
    journal.flush = () => {
      throw new Error('no space left on device');
    };
    const output = createWriteStream(out(), { flags: 'a' });
    const summary = await runBatch({ runtime, input: createReadStream(input()), output, journal });
    output.end();
    await finished(output);
    await journal.close(false);
    expect(summary).toMatchObject({ stopped: 'output-failed', done: 0, notStarted: 3 });
    expect(summary.cause?.message).toMatch(/journal" cannot be written: no space left/);
    expect(server.calls).toEqual([]);
  });
});
