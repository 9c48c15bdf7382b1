/** One budget for what a tool answered: head and tail stay, a line says what is missing and where the whole lies. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OutputBudget, withinBudget } from '../../packages/runtime/src/agent/budget.js';
import { OutputFiles } from '../../packages/runtime/src/agent/output-files.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { ResultShaper } from '../../packages/runtime/src/agent/result-shaper.js';
import { endWithin, estimateTokens, startWithin } from '../../packages/runtime/src/agent/tokens.js';
import type { ResultPart, ToolOutput } from '../../packages/runtime/src/agent/tool.js';
import { LaneToolResult } from '../../packages/runtime/src/result.js';
import { useCensus } from '../support/census.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { pngOf } from './media.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

const text = (value: string): ResultPart => ({ type: 'text', text: value });
const lines = (count: number) => Array.from({ length: count }, (_, n) => `line ${n} of the log`).join('\n');
const textOf = (parts: readonly ResultPart[]) =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
const tokensOf = (parts: readonly ResultPart[]) => estimateTokens(textOf(parts));

function cut(parts: readonly ResultPart[], maxTokens: number) {
  return withinBudget(parts, maxTokens, new OutputFiles(directory('out')));
}

describe('how many tokens', () => {
  /** Real counts by the tokenizers cl100k and o200k, the larger of both. */
  test.each([
    ['prose', 'The supervisor owns processes and threads; the server thread owns bytes and protocol. ', 16],
    ['JSON', '{"id":846930886,"name":"user 1","email":"u1@example.com","active":false}', 25],
    ['numbers', '16807,28247,52949,98475,1622,41432\n', 18],
    ['Chinese', '今天天气很好，我们去公园散步。', 19],
    ['Russian', 'Сегодня хорошая погода, и мы пошли гулять в парк.', 26],
    ['emoji', '😀🎉🚀🔥💡', 13],
  ])('%s is not counted too low, and at most twice', (_, sample, real) => {
    const estimated = estimateTokens(sample.repeat(50));
    expect(estimated).toBeGreaterThanOrEqual(real * 50 * 0.8);
    expect(estimated).toBeLessThanOrEqual(real * 50 * 2);
  });

  test('a start and an end within so many tokens are the longest, and never half a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 200 }),
        fc.integer({ min: 0, max: 60 }),
        (sample, max) => {
          const head = sample.slice(0, startWithin(sample, max));
          const tail = sample.slice(endWithin(sample, max));
          for (const piece of [head, tail]) {
            expect(piece.isWellFormed()).toBe(true);
            expect(estimateTokens(piece)).toBeLessThanOrEqual(max + 1);
          }
          expect(sample.startsWith(head) && sample.endsWith(tail)).toBe(true);
        },
      ),
    );
  });
});

describe('how much', () => {
  test('25 000 tokens, unless the environment or the caller says otherwise', () => {
    expect(new OutputBudget({ env: {} }).tokensFor('x')).toBe(25_000);
    expect(new OutputBudget({ env: { MAX_MCP_OUTPUT_TOKENS: ' 5000 ' } }).tokensFor('x')).toBe(5_000);
    const both = new OutputBudget({
      maxTokens: 900,
      perTool: new Map([['big', 80_000]]),
      env: { MAX_MCP_OUTPUT_TOKENS: '5000' },
    });
    expect([both.tokensFor('x'), both.tokensFor('big')]).toEqual([900, 80_000]);
  });

  test.each(['many', '-1', '12.5', '0', '1e5'])(
    '%s in the environment is a problem that is told, and the default counts',
    (given) => {
      const budget = new OutputBudget({ env: { MAX_MCP_OUTPUT_TOKENS: given } });
      expect(budget.tokensFor('x')).toBe(25_000);
      expect(budget.problem).toContain(`whole number of at least 200, got "${given}"`);
    },
  );

  test('options out of range are refused by name', () => {
    expect(() => new OutputBudget({ maxTokens: 10 })).toThrow(
      '"maxTokens" to be a whole number of at least 200, got 10',
    );
    expect(() => new OutputBudget({ perTool: new Map([['t', Number.NaN]]) })).toThrow('"perTool (t)"');
  });
});

describe('a text that is too long', () => {
  test('keeps head and tail whole lines, and names sizes and the file with the whole', async () => {
    const whole = lines(2_000);
    const { parts, truncated, file = '' } = await cut([text(whole)], 1_000);
    const shown = textOf(parts);
    const [, head = '', left, bytes, path, tail = ''] =
      /^([\s\S]*)\n\[… (\d+) of (\d+) bytes left out to keep this answer short; the whole text is in (\S+) …\]\n([\s\S]*)$/.exec(
        shown,
      ) ?? [];
    expect(truncated).toBe(true);
    expect(head).toMatch(/^line 0 of the log\n[\s\S]* of the log$/);
    expect(tail).toMatch(/^line \d+ of the log\n[\s\S]*line 1999 of the log$/);
    expect(Number(bytes)).toBe(Buffer.byteLength(whole));
    expect(Number(left)).toBe(Buffer.byteLength(whole) - Buffer.byteLength(head) - Buffer.byteLength(tail));
    expect(path).toBe(file);
    expect(readFileSync(file, 'utf8')).toBe(whole);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(tokensOf(parts)).toBeLessThanOrEqual(1_000);
    expect(tokensOf(parts)).toBeGreaterThan(800);
    expect(head.length).toBeGreaterThan(tail.length);
  });

  test('a text within the budget is not touched, and no file is written', async () => {
    const parts = [text('a'), text('b')];
    expect(await cut(parts, 200)).toEqual({ parts, truncated: false });
    expect(() => readdirSync(directory('out'))).toThrow('ENOENT');
  });

  test('one line without an end is cut between characters, not inside an emoji', async () => {
    const { parts, file = '' } = await cut([text('👩‍🚀'.repeat(2_000))], 300);
    expect(textOf(parts).isWellFormed()).toBe(true);
    expect(readFileSync(file, 'utf8')).toHaveLength('👩‍🚀'.length * 2_000);
  });

  test('the budget is one for all parts; pictures stay, wherever they stand', async () => {
    const image: ResultPart = { type: 'image', mediaType: 'image/png', data: pngOf() };
    const { parts, file = '' } = await cut(
      [text(lines(500)), image, text(lines(500)), image, text(lines(500))],
      800,
    );
    expect(parts.map((part) => part.type)).toEqual(['text', 'image', 'image', 'text']);
    expect(textOf(parts)).toMatch(/^line 0 [\s\S]*left out[\s\S]*line 499 of the log$/);
    expect(tokensOf(parts)).toBeLessThanOrEqual(800);
    expect(readFileSync(file, 'utf8')).toContain('[image of type image/png]\nline 0');
  });

  test('any parts come out within the budget, in order, with both ends', async () => {
    const files = new OutputFiles(directory('out'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 3_000 }), { minLength: 1, maxLength: 5 }),
        async (texts) => {
          const given = texts.map(text);
          const { parts, truncated } = await withinBudget(given, 400, files);
          if (!truncated) expect(parts).toEqual(given);
          expect(tokensOf(parts)).toBeLessThanOrEqual(400);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('from a tool to the model', () => {
  const shaperFor = (more = {}) =>
    new ResultShaper({
      media: anthropic.media,
      directory: directory('out'),
      budget: { maxTokens: 1_000 },
      ...more,
    });

  test('a small answer is passed on, with the id and the mark of its call', async () => {
    const output: ToolOutput = { isError: true, content: [{ type: 'text', text: 'no' }] };
    expect(await shaperFor().finish(output, { callId: 'c1', name: 'mcp__a__b' })).toEqual({
      callId: 'c1',
      name: 'mcp__a__b',
      isError: true,
      parts: [text('no')],
    });
  });

  test('the budget of a tool is its own', async () => {
    const output: ToolOutput = { isError: false, content: [{ type: 'text', text: lines(300) }] };
    const shaper = shaperFor({ budget: { maxTokens: 300, perTool: new Map([['wide', 50_000]]) } });
    expect((await shaper.finish(output, { callId: 'c', name: 'wide' })).file).toBeUndefined();
    expect((await shaper.finish(output, { callId: 'c', name: 'other' })).file).toMatch(
      /^\/.*result-.*\.txt$/,
    );
  });

  test('a long answer of a server is cut in the pool, once, to the same budget', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const whole = lines(20_000);
    const result = await runtime.callTool('mcp__s__echo', { text: whole });
    const { parts, file = '' } = await shaperFor({ runtime }).finish(
      { isError: false, result },
      { callId: 'c', name: 'mcp__s__echo' },
    );
    const shown = textOf(parts);
    expect(shown).toMatch(/^line 0 of the log\n[\s\S]*line 19999 of the log$/);
    expect(shown.match(/left out/g)).toHaveLength(1);
    expect(shown).toContain(`of ${Buffer.byteLength(whole)} bytes left out`);
    expect(tokensOf(parts)).toBeLessThanOrEqual(1_000);
    expect(tokensOf(parts)).toBeGreaterThan(800);
    expect(readdirSync(directory('out')).map((name) => directory('out', name))).toEqual([file]);
    expect(readFileSync(file, 'utf8')).toBe(whole);
  });

  test('text without the data that its tool promised is delivered, not thrown away', async () => {
    const outputSchema = { type: 'object', properties: { answer: { type: 'number' } }, required: ['answer'] };
    const runtime = await start({
      s: scripted({ tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema }] }),
    });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__t', { only: 'text' });
    const { parts, isError } = await shaperFor({ runtime }).finish(
      { isError: result.isError, result },
      { callId: 'c', name: 'mcp__s__t' },
    );
    expect([parts, isError]).toEqual([[text('{"only":"text"}')], false]);
    expect(result.warnings.length).toBeGreaterThan(0);
  });

  test('a large answer with a picture in it does not lose the picture', async () => {
    const runtime = await start({});
    const data = pngOf(200_000);
    const raw = JSON.stringify({
      content: [
        { type: 'text', text: lines(5_000) },
        { type: 'image', data, mimeType: 'image/jpeg' },
      ],
    });
    const call = { server: 's', tool: 't', attempts: 1, startedAt: 0, postedAt: 0 };
    const result = new LaneToolResult(call, raw, false, null, 1);
    const { parts } = await shaperFor({ runtime }).finish(
      { isError: false, result },
      { callId: 'c', name: 't' },
    );
    expect(parts.at(-1)).toEqual({ type: 'image', mediaType: 'image/png', data });
    expect(textOf(parts)).toContain('left out');
  });

  test('the signal ends the wait for the pool', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__big', { bytes: 1_000_000 });
    const call = { callId: 'c', name: 'mcp__s__big', signal: AbortSignal.abort() };
    const failure = await failureOf(shaperFor({ runtime }).finish({ isError: false, result }, call));
    expect(failure.code).toBe('CANCELLED');
  });
});
