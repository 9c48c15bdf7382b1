import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

describe('a call', () => {
  it('gives the answer of the tool, exactly as the server wrote it', async () => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    const result = await runtime.callTool('mcp__fs__echo', { text: 'héllo 🎉\u2028' });
    expect(result).toMatchObject({ outcome: 'ok', isError: false, attempts: 1, warnings: [] });
    expect(result.text()).toBe('héllo 🎉\u2028');
    expect(JSON.parse(result.raw)).toEqual({ content: [{ type: 'text', text: 'héllo 🎉\u2028' }] });
    expect(result.timing.callMs).toBeGreaterThan(0);
  });

  it('that the tool fails is a result, not an exception', async () => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    const result = await runtime.callTool('mcp__fs__fail', { text: 'no such file' });
    expect(result).toMatchObject({ outcome: 'tool_error', isError: true });
    expect(result.text()).toBe('no such file');
  });

  it('that the server refuses with a JSON-RPC error names its code and message', async () => {
    const rules = [
      { method: 'tools/call', reply: { error: { code: -32042, message: 'not today', data: { why: 1 } } } },
    ];
    const runtime = await start({ fs: scripted({ rules }) });
    await runtime.ready();
    const error = await failureOf(runtime.callTool('mcp__fs__echo', { text: 'x' }));
    expect(error).toMatchObject({
      code: 'PROTOCOL_ERROR',
      outcome: 'protocol_error',
      server: 'fs',
      tool: 'echo',
    });
    expect(error.message).toContain('not today');
    expect(error.data).toMatchObject({ jsonRpcCode: -32042, jsonRpcData: { why: 1 } });
  });

  it('that times out says which limit, tells the server and leaves the session usable (B018, B059)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ fs: scripted({ record }) });
    await runtime.ready();
    const error = await failureOf(runtime.callTool('mcp__fs__sleep', { ms: 300 }, { timeoutMs: 100 }));
    expect(error).toMatchObject({ code: 'TIMEOUT', outcome: 'timeout' });
    expect(error.data).toMatchObject({ limit: 'callTimeoutMs', sent: true });
    const seen = await recorded(record, ({ methods }) => methods.includes('notifications/cancelled'));
    const call = seen.messages.find((message) => message.method === 'tools/call');
    const cancel = seen.messages.find((message) => message.method === 'notifications/cancelled');
    expect(cancel?.params).toMatchObject({ requestId: call?.id });
    for (const text of ['a', 'b', 'c']) {
      expect((await runtime.callTool('mcp__fs__echo', { text })).text()).toBe(text);
    }
  });

  it('that is aborted ends at once as cancelled, with a neutral reason on the wire (B061)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ fs: scripted({ record }) });
    await runtime.ready();
    const abort = new AbortController();
    const call = failureOf(runtime.callTool('mcp__fs__hang', {}, { signal: abort.signal }));
    await recorded(record, ({ methods }) => methods.includes('tools/call'));
    abort.abort('secret reason');
    expect(await call).toMatchObject({ code: 'CANCELLED', outcome: 'cancelled' });
    const seen = await recorded(record, ({ methods }) => methods.includes('notifications/cancelled'));
    expect(JSON.stringify(seen.messages)).not.toContain('secret');
  });

  it.each([null, undefined, new Error('x')])('aborted with %s is cancelled all the same', async (reason) => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    const abort = new AbortController();
    abort.abort(reason);
    const error = await failureOf(runtime.callTool('mcp__fs__echo', { text: 'x' }, { signal: abort.signal }));
    expect(error).toMatchObject({ code: 'CANCELLED', data: { sent: false } });
  });

  it('of an unknown tool is rejected at once and names what there is', async () => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    expect(await failureOf(runtime.callTool('mcp__fs__toString'))).toMatchObject({ code: 'UNKNOWN_TOOL' });
    expect((await failureOf(runtime.server('fs').callTool('ecko'))).message).toContain('echo');
    expect(() => runtime.server('constructor')).toThrow(/there is no server "constructor"/);
  });

  it('with arguments that are no JSON is rejected before anything is sent', async () => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    const error = await failureOf(runtime.callTool('mcp__fs__echo', { text: 1n }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENTS', outcome: 'rejected' });
  });

  it('made before the server is ready waits for it', async () => {
    const runtime = await start({ fs: scripted({ startDelayMs: 200 }) });
    const result = await runtime.server('fs').callTool('echo', { text: 'early' });
    expect(result.text()).toBe('early');
  });

  it('reports progress, which moves the idle limit but not the hard one (B057, B058)', async () => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    const seen: number[] = [];
    const slow = { everyMs: 50, forMs: 600 };
    const onProgress = (progress: { progress: number }) => void seen.push(progress.progress);
    await runtime.callTool('mcp__fs__progress', slow, { timeoutMs: 250, onProgress });
    expect(seen.length).toBeGreaterThan(2);
    const error = await failureOf(
      runtime.callTool('mcp__fs__progress', slow, { timeoutMs: 250, maxMs: 300 }),
    );
    expect(error).toMatchObject({ code: 'TIMEOUT', data: { limit: 'callMaxMs' } });
  });

  it('200 at once carry ids that are unique and never 0, and each gets its own answer (B019)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ fs: scripted({ record }) });
    await runtime.ready();
    const texts = Array.from({ length: 200 }, (_, i) => `call ${i}`);
    const results = await Promise.all(texts.map((text) => runtime.callTool('mcp__fs__echo', { text })));
    expect(results.map((result) => result.text())).toEqual(texts);
    const ids = readRecord(record).messages.flatMap((message) => message.id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain(0);
  });

  it('beyond the window and the queue is refused with the limit, and the rest is served', async () => {
    const runtime = await start({ fs: { ...scripted({}), window: 1, queueMax: 2 } });
    await runtime.ready();
    const saturated = new Promise((resolve) => runtime.on('saturated', resolve));
    const calls = Array.from({ length: 5 }, () => runtime.callTool('mcp__fs__sleep', { ms: 30 }));
    const settled = await Promise.allSettled(calls);
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(await failureOf(calls[4] as Promise<unknown>)).toMatchObject({
      code: 'MAILBOX_FULL',
      retryable: true,
    });
    await saturated;
  });

  it('of 300 kB and of 8 MB arrives whole, with the digits of big integers', async () => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    for (const bytes of [70_000, 300_000, 8_000_000]) {
      const result = await runtime.callTool('mcp__fs__big', { bytes });
      expect(result.text().length).toBe(bytes);
    }
    const big = '{"content":[{"type":"text","text":"n"}],"structuredContent":{"id":1915883588174806058}}';
    const reply = { bytes: [`{"jsonrpc":"2.0","id":$id,"result":${big}}\n`] };
    const other = await start({ n: scripted({ rules: [{ method: 'tools/call', reply }] }) });
    await other.ready();
    expect((await other.callTool('mcp__n__echo')).raw).toBe(big);
  });

  it('above the message limit fails alone as too_large, and the next one is served', async () => {
    const runtime = await start({ fs: { ...scripted({}), maxMessageBytes: 1_000_000 } });
    await runtime.ready();
    const [large, small] = await Promise.allSettled([
      runtime.callTool('mcp__fs__big', { bytes: 3_000_000 }),
      runtime.callTool('mcp__fs__echo', { text: 'neighbour' }),
    ]);
    expect(large).toMatchObject({
      status: 'rejected',
      reason: { code: 'TOO_LARGE', data: { limit: 1_000_000 } },
    });
    expect(small.status).toBe('fulfilled');
    expect((await runtime.callTool('mcp__fs__echo', { text: 'after' })).text()).toBe('after');
  });

  it('in flight when the runtime closes ends with the word that it may have run', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ fs: scripted({ record }) });
    await runtime.ready();
    const call = failureOf(runtime.callTool('mcp__fs__hang'));
    await recorded(record, ({ methods }) => methods.includes('tools/call'));
    await runtime.close();
    expect(await call).toMatchObject({ code: 'OUTCOME_UNKNOWN', data: { sent: true } });
    expect(await failureOf(runtime.callTool('mcp__fs__echo'))).toMatchObject({ code: 'CLOSED' });
  });

  it('is checked against the outputSchema, with a warning and not at the price of the result', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const tools = ['good', 'bad', 'none', 'failing'].map((name) => ({
      name,
      inputSchema: { type: 'object' },
      outputSchema: schema,
    }));
    const reply = (structured: object) => ({
      result: { content: [{ type: 'text', text: 't' }], ...structured },
    });
    const rules = [
      { method: 'tools/call', tool: 'good', reply: reply({ structuredContent: { n: 1 } }) },
      { method: 'tools/call', tool: 'bad', reply: reply({ structuredContent: { n: 'x' } }) },
      { method: 'tools/call', tool: 'none', reply: reply({}) },
      {
        method: 'tools/call',
        tool: 'failing',
        reply: reply({ isError: true, structuredContent: { n: 'no number' } }),
      },
    ];
    const runtime = await start({ s: scripted({ tools, rules }) });
    await runtime.ready();
    expect((await runtime.callTool('mcp__s__good')).warnings).toEqual([]);
    expect((await runtime.callTool('mcp__s__bad')).warnings[0]).toMatch(
      /does not keep its outputSchema.*\/n must be number/,
    );
    const none = await runtime.callTool('mcp__s__none');
    expect([none.outcome, none.text(), none.warnings.length]).toEqual(['ok', 't', 1]);
    // An error says what went wrong; that it has another shape is no news (B087).
    const failing = await runtime.callTool('mcp__s__failing');
    expect([failing.outcome, failing.text(), failing.warnings]).toEqual(['tool_error', 't', []]);
  });
});

describe('a tool list', () => {
  it('is read to its last page, sorted, and taken again when it changes', async () => {
    const runtime = await start({ fs: scripted({ toolCount: 25, pageSize: 4 }) });
    await runtime.ready();
    const names = runtime.tools().map((tool) => tool.name);
    expect(names.filter((name) => name.startsWith('tool_')).length).toBe(25);
    expect(names).toEqual([...names].sort());
  });

  it('keeps its good tools when one of them is broken, and says which and why', async () => {
    const tools = [
      { name: 'good', inputSchema: { type: 'object' } },
      { name: 'odd', inputSchema: 'not a schema' },
      { name: 'bare', description: null, annotations: null },
      'not even an object',
      { name: 'good', inputSchema: { type: 'object' } },
    ];
    const runtime = await start({ s: scripted({ tools: tools as never }) });
    await runtime.ready();
    expect(runtime.tools().map((tool) => tool.name)).toEqual(['bare', 'good']);
    const [status] = (await runtime.status()).servers;
    expect(status?.quarantinedTools).toEqual([
      { name: 'odd', reason: expect.stringContaining('inputSchema') },
      { name: '?', reason: 'not an object' },
    ]);
    expect(status?.warnings.join()).toContain('listed twice');
  });

  it('of a server that is lost stays until the server is back', async () => {
    const runtime = await start({ fs: scripted({}) });
    await runtime.ready();
    await failureOf(runtime.callTool('mcp__fs__exit', { code: 1 }));
    expect(runtime.tools().length).toBeGreaterThan(5);
    await reaches(runtime, 'fs', 'ready');
  });
});
