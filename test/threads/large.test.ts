/** Results that are large: where they lie, what the agent's thread does for them, and what stays bounded. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { runBatch } from '@bulkhead/runtime';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
afterEach(() => void vi.restoreAllMocks());

const MB = 1_000_000;
const SPILL = { spillBytes: 2 * MB };
const answered = (bytes: number) => `{"content":[{"type":"text","text":"${'x'.repeat(bytes)}"}]}`;

describe('a result of spillBytes and more', () => {
  it('lies in a private file, is read from there in every way, and goes with the runtime', async () => {
    const runtime = await start({ s: { ...scripted({}), ...SPILL } }, { spillDir: directory('spill') });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__big', { bytes: 3 * MB });
    const { path, bytes } = result.spilled as { path: string; bytes: number };
    expect(readFileSync(path, 'utf8')).toBe(answered(3 * MB));
    expect(bytes).toBe(answered(3 * MB).length);
    expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(result).toMatchObject({ outcome: 'ok', isError: false, warnings: [] });
    expect(result.raw).toBe(answered(3 * MB));
    expect(Buffer.from(await result.rawBytes()).equals(readFileSync(path))).toBe(true);
    expect(result.text()).toBe('x'.repeat(3 * MB));
    await runtime.close();
    expect(readdirSync(directory('spill'))).toEqual([]);
    expect(() => result.raw).toThrow(/before runtime\.close\(\)/);
  });

  it('below it stays in memory, and with 0 all do', async () => {
    const servers = { s: { ...scripted({}), ...SPILL }, never: { ...scripted({}), spillBytes: 0 } };
    const runtime = await start(servers, { spillDir: directory('spill') });
    await runtime.ready();
    expect((await runtime.callTool('mcp__s__big', { bytes: 1.5 * MB })).spilled).toBeUndefined();
    expect((await runtime.callTool('mcp__never__big', { bytes: 3 * MB })).spilled).toBeUndefined();
    expect(existsSync(directory('spill'))).toBe(false);
  });

  it('that no file can be written for comes as before, with a warning that says what to do', async () => {
    writeFileSync(directory('file'), '');
    const runtime = await start({ s: { ...scripted({}), ...SPILL } }, { spillDir: directory('file') });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__big', { bytes: 3 * MB });
    expect(result.spilled).toBeUndefined();
    expect(result.text().length).toBe(3 * MB);
    expect(result.warnings.at(-1)).toMatch(/^s\.big: its \d+ bytes are held in memory.*spillDir/);
  });

  it('that a dead host left behind is removed by the next start', async () => {
    const first = await start({ s: { ...scripted({}), ...SPILL } }, { spillDir: directory('spill') });
    await first.ready();
    const result = await first.callTool('mcp__s__big', { bytes: 3 * MB });
    const own = basename(dirname(result.spilled?.path ?? ''));
    const dead = own.replace(`-${process.pid}-`, `-${spawnSync('true').pid}-`);
    mkdirSync(directory('spill', dead));
    writeFileSync(directory('spill', dead, 'left.json'), '{}');
    await start({ s: scripted({}) }, { spillDir: directory('spill') });
    await eventually(
      () => readdirSync(directory('spill')).join() === own,
      () => 'only the directory of the living runtime',
    );
    expect(result.text().length).toBe(3 * MB);
  });

  it('goes through a batch unchanged and leaves no file behind', async () => {
    const runtime = await start({ s: { ...scripted({}), ...SPILL } }, { spillDir: directory('spill') });
    await runtime.ready();
    const sizes = [3 * MB, 10, 4 * MB, 100_000];
    const lines = sizes.map((bytes, id) =>
      JSON.stringify({ id, server: 's', tool: 'big', arguments: { bytes } }),
    );
    const output = new PassThrough();
    const written = textOf(output);
    const summary = await runBatch({
      runtime,
      input: Readable.from([Buffer.from(lines.join('\n'))]),
      output,
      ordered: true,
      connectTimeoutMs: 10_000,
    });
    output.end();
    const [first, second, third, fourth] = (await written).split('\n');
    expect(summary).toMatchObject({ ok: 4, stopped: undefined });
    expect([first, second, third, fourth].map((line) => JSON.parse(line ?? '').id)).toEqual([0, 1, 2, 3]);
    expect(first).toContain(`,"result":${answered(3 * MB)},"attempts":1`);
    expect(third).toContain(`,"result":${answered(4 * MB)},"attempts":1`);
    expect(readdirSync(directory('spill')).flatMap((name) => readdirSync(directory('spill', name)))).toEqual(
      [],
    );
  });
});

/** Counts what this thread decodes: long texts parsed, and long texts made of bytes. */
function watchDecoding() {
  const long = 50_000;
  const seen = { parsed: 0, decoded: 0 };
  const { parse } = JSON;
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (String(text).length >= long) seen.parsed++;
    return parse(text, reviver);
  });
  const decode = Buffer.prototype.toString;
  vi.spyOn(Buffer.prototype, 'toString').mockImplementation(function (this: Buffer, ...args) {
    const text = decode.apply(this, args);
    if (text.length >= long) seen.decoded++;
    return text;
  });
  return seen;
}

describe('shaping', () => {
  it.each([
    ['in the bytes that came', 1.5 * MB],
    ['in a file', 3 * MB],
  ])('of a result %s decodes nothing on the agent, and the result stays whole', async (_where, bytes) => {
    const runtime = await start({ s: { ...scripted({}), ...SPILL } });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__big', { bytes });
    const seen = watchDecoding();
    const shaped = await runtime.shape(result, { maxBytes: 2_000, directory: directory() });
    expect(seen).toEqual({ parsed: 0, decoded: 0 });
    expect(shaped).toMatchObject({ bytes, truncated: true });
    expect(shaped.text).toMatch(/^x{1000,}\n\[… \d+ of \d+ bytes left out; .*…\]\nx{400,}$/);
    expect(statSync(shaped.file as string).size).toBe(bytes);
    expect(result.raw).toBe(answered(bytes));
    expect(result.text().length).toBe(bytes);
    expect(seen).toEqual({ parsed: 1, decoded: bytes > SPILL.spillBytes ? 0 : 1 });
  });

  it('of one result many times at once gives each its cut', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__big', { bytes: 300_000 });
    const budgets = [2_000, 3_000, 4_000, 5_000];
    const all = await Promise.all(budgets.map((maxBytes) => runtime.shape(result, { maxBytes })));
    expect(all.map(({ bytes }) => bytes)).toEqual(budgets.map(() => 300_000));
    for (const [index, { text }] of all.entries()) {
      expect(text.length).toBeLessThanOrEqual(budgets[index] ?? 0);
      expect(text.length).toBeGreaterThan((budgets[index] ?? 0) - 100);
    }
    expect(result.raw).toBe(answered(300_000));
  });

  it('that is cancelled, at whatever moment, leaves the result whole', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__big', { bytes: 5 * MB });
    for (const turns of [0, 1, 5, 20, 80]) {
      const abort = new AbortController();
      const shaping = runtime.shape(result, { signal: abort.signal, maxBytes: 2_000 }).catch((e) => e.code);
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      abort.abort();
      const end = await shaping;
      if (end !== 'CANCELLED') expect(end).toMatchObject({ truncated: true });
    }
    expect((await runtime.shape(result, { maxBytes: 2_000 })).bytes).toBe(5 * MB);
    expect(result.raw).toBe(answered(5 * MB));
  });

  it('reads a result as the agent would: blocks joined, structured content with its digits', async () => {
    const big = 'y'.repeat(100_000);
    const results = [
      `{"content":[{"type":"text","text":"one"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"${big}"}]}`,
      `{"content":[],"structuredContent":{"id":1915883588174806058,"t":"${big}"}}`,
    ];
    for (const raw of results) {
      const rules = [
        { method: 'tools/call', reply: { bytes: [`{"jsonrpc":"2.0","id":$id,"result":${raw}}\n`] } },
      ];
      writeFileSync(directory('script.json'), JSON.stringify({ rules }));
      const [command, path] = [process.execPath, scripted({}).args?.[0] as string];
      const runtime = await start({ s: { command, args: [path, directory('script.json')] } });
      await runtime.ready();
      const result = await runtime.callTool('mcp__s__echo');
      const shaped = await runtime.shape(result, { maxBytes: 200_000 });
      expect(shaped.truncated).toBe(false);
      expect(shaped.text).toBe(result.text());
    }
  });
});

describe('a line of 300 MB above the limit', () => {
  it('fails its call alone, and memory stays bounded', async () => {
    const runtime = await start({ s: { ...scripted({}), maxMessageBytes: MB } });
    await runtime.ready();
    const before = process.memoryUsage().rss;
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 5);
    const error = await failureOf(runtime.callTool('mcp__s__big', { bytes: 300 * MB }));
    clearInterval(watch);
    expect(error).toMatchObject({ code: 'TOO_LARGE', data: { limit: MB } });
    expect(error.data.bytes).toBeGreaterThan(300 * MB);
    expect(most - before).toBeLessThan(100 * 1024 * 1024);
    expect((await runtime.callTool('mcp__s__echo', { text: 'after' })).text()).toBe('after');
  });
});
