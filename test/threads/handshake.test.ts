/** Handshakes and their timeouts. */
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { readRecord } from '../support/record.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

describe('a server', () => {
  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'that speaks %s is taken (B043)',
    async (protocolVersion) => {
      const runtime = await start({ s: scripted({ protocolVersion }) });
      expect(await runtime.ready()).toMatchObject({ ok: true });
      expect((await runtime.status()).servers[0]?.protocolVersion).toBe(protocolVersion);
    },
  );

  it('that speaks a version nobody knows is parked with the reason (B043)', async () => {
    const runtime = await start({ s: scripted({ protocolVersion: '1999-01-01' }) });
    const report = await runtime.ready();
    expect(report.failed[0]).toMatchObject({ state: 'quarantined', reason: { kind: 'protocol-version' } });
    expect(report.failed[0]?.reason?.message).toContain('1999-01-01');
  });

  it('that is strict about notifications/initialized hears it first (B053)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ requireInitialized: 'error', record }) });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    // The question for the era comes first; it is answered by an error and changes nothing.
    expect(readRecord(record).methods.slice(0, 4)).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
      'tools/list',
    ]);
  });

  it('that shows more tools after notifications/initialized shows them all (B053)', async () => {
    const runtime = await start({ s: scripted({ requireInitialized: 'fewer-tools' }) });
    await runtime.ready();
    expect(runtime.tools().length).toBeGreaterThan(1);
  });

  it('that notifies, logs and pings before its answer is understood (B054)', async () => {
    const before = [
      { json: { jsonrpc: '2.0' as const, method: 'notifications/tools/list_changed' } },
      {
        json: {
          jsonrpc: '2.0' as const,
          method: 'notifications/message',
          params: { level: 'info', data: 'hello' },
        },
      },
      { json: { jsonrpc: '2.0' as const, id: 'early', method: 'ping' } },
    ];
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record, rules: [{ method: 'initialize', before }] }) });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(readRecord(record).messages).toContainEqual(expect.objectContaining({ id: 'early', result: {} }));
  });

  it('that forgets its version or sends nulls in the handshake is taken', async () => {
    const result = {
      protocolVersion: '2025-06-18',
      capabilities: null,
      serverInfo: { name: 'bare' },
      instructions: null,
    };
    const runtime = await start({ s: scripted({ rules: [{ method: 'initialize', reply: { result } }] }) });
    expect(await runtime.ready()).toMatchObject({ ok: true });
  });

  it('that pings every 100 ms gets its pongs while a call runs (B062)', async () => {
    const runtime = await start({ s: scripted({ pings: { everyMs: 100, exitAfterMissed: 2 } }) });
    await runtime.ready();
    await runtime.callTool('mcp__s__sleep', { ms: 1_000 });
    expect((await runtime.status()).servers[0]).toMatchObject({ spawns: 1, state: 'ready' });
  });

  it('that has no tools and says so with an error is ready all the same (B050, B051)', async () => {
    const reply = { error: { code: -32601, message: 'Method not found' } };
    const runtime = await start({
      s: scripted({ capabilities: {}, rules: [{ method: 'tools/list', reply }] }),
    });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(runtime.tools()).toEqual([]);
  });
});

describe('start-up time', () => {
  it('is the one of the entry: a slow server joins late, a slower one is named (B055)', async () => {
    const runtime = await start(
      {
        slow: { ...scripted({ startDelayMs: 1_000 }), startupTimeoutMs: 5_000 },
        slower: { ...scripted({ startDelayMs: 20_000 }), startupTimeoutMs: 700 },
        quick: scripted({}),
      },
      { limits: { restartMax: 0, eofGraceMs: 200 } },
    );
    expect((await runtime.server('quick').callTool('echo', { text: 'first' })).text()).toBe('first');
    expect(runtime.server('slow').state).not.toBe('ready');
    const report = await runtime.ready();
    expect(report.ready).toEqual(['quick', 'slow']);
    expect(report.failed[0]?.reason?.message).toContain('startupTimeoutMs (700 ms)');
  });

  it('over is not told to the server: initialize is never cancelled (B059)', async () => {
    const record = directory('record.jsonl');
    const rules = [{ method: 'initialize', reply: null }];
    const runtime = await start(
      { s: { ...scripted({ record, rules }), startupTimeoutMs: 500 } },
      { limits: { restartMax: 0 } },
    );
    await runtime.ready({ timeoutMs: 10_000 });
    expect(readRecord(record).methods).toEqual(['server/discover', 'initialize']);
  });

  it('of one that never initialises does not hold back the others, nor their calls (B158)', async () => {
    const silent = () => scripted({ rules: [{ method: 'initialize', reply: null }] });
    const hung = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`hung${i}`, silent()]));
    const runtime = await start({ ...hung, good: scripted({}) });
    expect((await runtime.server('good').callTool('echo', { text: 'fine' })).text()).toBe('fine');
    expect(runtime.server('hung0').state).toBe('connecting');
    const error = await failureOf(runtime.server('hung0').callTool('echo', {}, { timeoutMs: 200 }));
    expect(error).toMatchObject({ code: 'TIMEOUT', data: { sent: false, state: 'connecting' } });
  });
});
