/** Both eras of the protocol: which one a server speaks is found out, and then a call is a call. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentHandlers } from '@bulkhead/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { readRecord } from '../support/record.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { type Script, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const FIXTURE = fileURLToPath(new URL('../fixtures/modern-server.mjs', import.meta.url));

// Verdicts are remembered on disk: each test has a memory of its own.
const cacheHome = process.env.XDG_CACHE_HOME;
beforeEach(() => {
  process.env.XDG_CACHE_HOME = directory('cache');
});
afterEach(() => {
  if (cacheHome === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = cacheHome;
});

const modern = (script: Record<string, unknown> = {}) => ({
  command: process.execPath,
  args: [FIXTURE, JSON.stringify(script)],
});
const asked = (script: Script) => ({ ...scripted(script), protocol: 'auto' });

const received = (file: string): { id?: number; method: string; params?: Record<string, unknown> }[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).in);
const calls = (file: string) => received(file).filter(({ method }) => method === 'tools/call');
const versionOf = async (runtime: Awaited<ReturnType<typeof start>>) =>
  (await runtime.status()).servers[0]?.protocolVersion;

const form = (value: string): AgentHandlers => ({
  elicitation: (params) => ({ action: 'accept', content: { value: `${value} ${String(params.message)}` } }),
});

describe.each([
  ['of both eras', modern({ dual: true }), '2026-07-28'],
  ['of the stateless era only', modern(), '2026-07-28'],
  ['of both eras, taken as legacy', { ...modern({ dual: true }), protocol: 'legacy' }, '2025-11-25'],
  ['of the stateless era, pinned', { ...modern(), protocol: '2026-07-28' }, '2026-07-28'],
])('a server %s', (_, entry, version) => {
  it('is ready, lists its tools, answers and closes', async () => {
    const runtime = await start({ s: entry });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(await versionOf(runtime)).toBe(version);
    expect(runtime.server('s').tools.map(({ name }) => name).length).toBe(8);
    expect((await runtime.status()).servers[0]).toMatchObject({
      serverInfo: { name: 'modern', version: '1.0.0' },
      quarantinedTools: [{ name: '?', reason: '"name" is not a string' }],
      spawns: 1,
    });
    const server = runtime.server('s');
    expect(await server.callTool('echo', { text: 'hi' })).toMatchObject({ outcome: 'ok' });
    expect(await server.callTool('echo', { fail: true })).toMatchObject({ outcome: 'tool_error' });
    expect(await failureOf(server.callTool('hang', {}, { timeoutMs: 100 }))).toMatchObject({
      code: 'TIMEOUT',
    });
    const stop = new AbortController();
    const call = failureOf(server.callTool('hang', {}, { signal: stop.signal }));
    stop.abort();
    expect(await call).toMatchObject({ code: 'CANCELLED' });
    expect(await server.readResource('file:///a')).toMatchObject({ contents: [{ text: 'read' }] });
  });
});

describe('a server of the stateless era', () => {
  it('is never sent initialize, and every request carries the envelope', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: modern({ record }) });
    await runtime.ready();
    await runtime.server('s').callTool('echo', { text: 'hi' });
    const requests = received(record).filter(({ id }) => id !== undefined);
    expect(requests[0]?.method).toBe('server/discover');
    expect(requests.map(({ method }) => method)).not.toContain('initialize');
    for (const { params } of requests) {
      expect(params?._meta).toMatchObject({
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: expect.any(String) },
        'io.modelcontextprotocol/clientCapabilities': {},
      });
    }
  });

  it('asks twice before it answers: same request, exact state, new ids', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: modern({ record }) }, { handlers: form('Ada') });
    await runtime.ready();
    const result = await runtime.server('s').callTool('ask', { topic: 'x' });
    expect(result.text()).toBe('2:Ada who Ada age');
    const rounds = calls(record);
    expect(rounds.map(({ params }) => params?.requestState)).toEqual([undefined, 'é"1', '2:Ada who']);
    expect(new Set(rounds.map(({ id }) => id)).size).toBe(3);
    for (const { params } of rounds) expect(params).toMatchObject({ name: 'ask', arguments: { topic: 'x' } });
  });

  it('may let a person think: limits stand still while it waits for an answer', async () => {
    const handlers: AgentHandlers = {
      elicitation: () =>
        new Promise((resolve) =>
          setTimeout(() => resolve({ action: 'accept', content: { value: 'late' } }), 400),
        ),
    };
    const runtime = await start({ s: modern() }, { handlers });
    await runtime.ready();
    const result = await runtime.server('s').callTool('ask', {}, { timeoutMs: 250 });
    expect(result.text()).toBe('2:late late');
  });

  it('is not cancelled on the wire when the agent gives up while it is asked', async () => {
    const record = directory('record.jsonl');
    const stop = new AbortController();
    const handlers: AgentHandlers = {
      elicitation: () => {
        stop.abort();
        return new Promise(() => {});
      },
    };
    const runtime = await start({ s: modern({ record }) }, { handlers });
    await runtime.ready();
    const server = runtime.server('s');
    const error = await failureOf(server.callTool('ask', {}, { signal: stop.signal }));
    expect(error.code).toBe('CANCELLED');
    expect((await server.callTool('echo', { text: 'after' })).text()).toBe('after');
    expect(received(record).map(({ method }) => method)).not.toContain('notifications/cancelled');
  });

  it('that asks for ever ends its call after eight rounds', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: modern({ record }) }, { handlers: form('x') });
    await runtime.ready();
    const error = await failureOf(runtime.server('s').callTool('ask-for-ever'));
    expect(error).toMatchObject({ code: 'PROTOCOL_ERROR', message: expect.stringContaining('more than 8') });
    expect(calls(record)).toHaveLength(9);
  });

  it('that asks for what nobody declared ends its call with words', async () => {
    const runtime = await start({ s: modern() }, { handlers: form('x') });
    await runtime.ready();
    const error = await failureOf(runtime.server('s').callTool('sample'));
    expect(error.code).toBe('PROTOCOL_ERROR');
    expect(error.message).toContain('sampling/createMessage, which this client did not declare');
  });

  it('tells of new tools and of a resource that changed', async () => {
    const runtime = await start({ s: modern() });
    await runtime.ready();
    const server = runtime.server('s');
    await server.subscribe('file:///watched');
    const updated = new Promise((resolve) => runtime.on('resource', resolve));
    await server.callTool('grow');
    expect(await updated).toMatchObject({ server: 's' });
    await eventually(
      () => server.tools.length === 9,
      () => 'the new tool',
    );
  });

  it('that ends its stream of notifications is listened to again, and what changed meanwhile is read', async () => {
    const runtime = await start({ s: modern() });
    await runtime.ready();
    const server = runtime.server('s');
    await server.callTool('drop');
    await eventually(
      () => server.tools.some(({ name }) => name.includes('untold')),
      () => 'the tool that nobody told of',
    );
    await server.callTool('grow');
    await eventually(
      () => server.tools.length === 10,
      () => 'news on the new stream',
    );
  });

  it('learns the wanted log level with every request', async () => {
    const runtime = await start({ s: modern() });
    await runtime.ready();
    const server = runtime.server('s');
    expect((await server.callTool('level')).text()).toBe('none');
    await server.setLogLevel('debug');
    expect((await server.callTool('level')).text()).toBe('debug');
  });

  it('that answers the question for its era too late is recognised by its refusal of initialize', async () => {
    const record = directory('record.jsonl');
    const entry = { ...modern({ record, firstDiscoverDelayMs: 1_800 }), startupTimeoutMs: 3_000 };
    const runtime = await start({ s: entry }, { limits: { restartMax: 0 } });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(await versionOf(runtime)).toBe('2026-07-28');
    expect(
      received(record)
        .map(({ method }) => method)
        .slice(0, 3),
    ).toEqual(['server/discover', 'initialize', 'server/discover']);
  });
});

describe('a legacy server', () => {
  it('that refuses the question goes on with initialize on the same connection', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: asked({ record }) });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(readRecord(record).methods.slice(0, 3)).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
    ]);
    expect((await runtime.server('s').callTool('echo', { text: 'old' })).text()).toBe('old');
    expect((await runtime.status()).servers[0]).toMatchObject({ spawns: 1, protocolVersion: '2025-11-25' });
  });

  it('that ignores the question is asked once a day, and is ready after its limit (B046)', async () => {
    const record = directory('record.jsonl');
    const entry = asked({ record, beforeInitialize: 'ignore' });
    const startedAt = performance.now();
    const first = await start({ s: entry });
    expect(await first.ready()).toMatchObject({ ok: true });
    expect(performance.now() - startedAt).toBeGreaterThan(2_400);
    await first.close();
    const second = await start({ s: entry });
    expect(await second.ready()).toMatchObject({ ok: true });
    const asks = readRecord(record).methods.filter((method) => method === 'server/discover');
    expect(asks).toHaveLength(1);
  });

  it('that exits on the question is started again and not asked, and nothing is held against it (B047)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start(
      { s: asked({ record, beforeInitialize: 'exit' }) },
      { limits: { restartMax: 0 } },
    );
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect((await runtime.server('s').callTool('echo', { text: 'here' })).text()).toBe('here');
    expect((await runtime.status()).servers[0]).toMatchObject({ spawns: 2 });
    expect(readRecord(record).methods.filter((method) => method === 'server/discover')).toHaveLength(1);
  });

  it('that refuses the newest version and names its own gets that one (B045)', async () => {
    const runtime = await start({ s: asked({ requireVersions: ['2025-06-18'] }) });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(await versionOf(runtime)).toBe('2025-06-18');
  });

  it('that refuses the newest version without a word about others is asked one step down, once (B045)', async () => {
    const record = directory('record.jsonl');
    const error = { code: -32602, message: 'Unsupported protocol version' };
    const rules = [{ method: 'initialize', where: { protocolVersion: '2025-11-25' }, reply: { error } }];
    const runtime = await start({ s: asked({ record, rules }) });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(await versionOf(runtime)).toBe('2025-06-18');
    expect(readRecord(record).methods.filter((method) => method === 'initialize')).toHaveLength(2);
  });

  it('whose entry asks for the stateless era fails with words', async () => {
    const runtime = await start({ s: { ...scripted({}), protocol: '2026-07-28' } });
    const report = await runtime.ready();
    expect(report.failed[0]).toMatchObject({ state: 'quarantined', reason: { kind: 'protocol-version' } });
    expect(report.failed[0]?.reason?.message).toContain('set it to "auto"');
  });
});
