/** Many calls at once, and results that are cut to a budget. */
import { existsSync, readFileSync } from 'node:fs';
import type { ManyCall, ManyOutcome } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);

describe('callMany', () => {
  it('gives every outcome once, errors too, and never pulls more than there is room for', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    let pulled = 0;
    let seen = 0;
    let most = 0;
    async function* calls(): AsyncGenerator<ManyCall> {
      for (let i = 0; i < 300; i++) {
        most = Math.max(most, ++pulled - seen);
        const tool = i % 50 === 7 ? 'missing' : 'echo';
        yield i % 2
          ? { server: 's', tool, args: { text: `${i}` } }
          : { fullName: `mcp__s__${tool}`, args: { text: `${i}` } };
      }
    }
    const outcomes: ManyOutcome[] = [];
    for await (const outcome of runtime.callMany(calls(), { concurrency: 8 })) {
      seen++;
      outcomes.push(outcome);
    }
    expect(outcomes.map(({ index }) => index).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 300 }, (_, i) => i),
    );
    for (const outcome of outcomes) {
      if (outcome.index % 50 === 7) expect(outcome).toMatchObject({ error: { code: 'UNKNOWN_TOOL' } });
      else expect('result' in outcome && outcome.result.text()).toBe(`${outcome.index}`);
    }
    expect(most).toBeLessThanOrEqual(9);
  });

  it('left early cancels what is in flight and closes the source', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    let closed = false;
    function* calls(): Generator<ManyCall> {
      try {
        yield { server: 's', tool: 'echo', args: { text: 'first' } };
        for (;;) yield { server: 's', tool: 'hang' };
      } finally {
        closed = true;
      }
    }
    for await (const outcome of runtime.callMany(calls(), { concurrency: 4 })) {
      expect(outcome.index).toBe(0);
      break;
    }
    expect(closed).toBe(true);
    const [status] = (await runtime.status()).servers;
    expect(status?.stats).toMatchObject({ inFlight: 0, outcomes: { ok: 1, cancelled: 3 } });
  });
});

describe('a shaped result', () => {
  it('keeps head and tail within the budget and names the file of the whole, cutting no character', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const text = `start ${'é🎉'.repeat(50_000)} end`;
    const result = await runtime.callTool('mcp__s__echo', { text });
    const shaped = await runtime.shape(result, { maxBytes: 5_001, directory: directory() });
    expect(shaped).toMatchObject({ truncated: true, bytes: Buffer.byteLength(text) });
    expect(Buffer.byteLength(shaped.text)).toBeLessThanOrEqual(5_001);
    expect(shaped.text).toMatch(/^start é.*left out.*end$/s);
    expect(shaped.text).not.toContain('\ufffd');
    expect(readFileSync(shaped.file as string, 'utf8')).toBe(text);
  });

  it('that fits is left as it is, without a file', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const shaped = await runtime.shape(await runtime.callTool('mcp__s__echo', { text: 'short' }));
    expect(shaped).toEqual({ text: 'short', bytes: 5, truncated: false });
  });

  it('can be cancelled without hurting the session', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__big', { bytes: 2_000_000 });
    const abort = new AbortController();
    const shaping = failureOf(runtime.shape(result, { signal: abort.signal, directory: directory() }));
    abort.abort();
    expect(await shaping).toMatchObject({ code: 'CANCELLED' });
    expect((await runtime.callTool('mcp__s__echo', { text: 'fine' })).text()).toBe('fine');
    const again = await runtime.shape(result, { directory: directory() });
    expect(existsSync(again.file as string)).toBe(true);
  });
});
