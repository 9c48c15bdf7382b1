/** What servers really write on stdout, seen from the caller's side. The framer's own tests cut at every byte. */
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { type Script, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

/** Echoes one text through a server that writes in its own way. */
async function echoThrough(script: Script, text = 'plain'): Promise<string> {
  const runtime = await start({ s: scripted(script) });
  await runtime.ready();
  return (await runtime.callTool('mcp__s__echo', { text })).text();
}

describe('a server that', () => {
  it('prints banners, colours and log lines between its replies keeps its session (B001, B002)', async () => {
    const noise = [
      'Starting…',
      '\u001b[32mready\u001b[0m',
      '- item',
      '[INFO] x',
      '123',
      '"hi"',
      '{"level":"info","msg":"x"}',
      '[]',
      'null',
    ];
    const runtime = await start({ s: scripted({ wire: { noise } }) });
    const warned = new Promise<{ message: string }>((resolve) => runtime.on('warning', resolve));
    await runtime.ready();
    expect((await runtime.callTool('mcp__s__echo', { text: 'x' })).text()).toBe('x');
    expect((await warned).message).toContain('not JSON-RPC');
    expect((await runtime.status()).servers[0]?.skippedLines).toBeGreaterThanOrEqual(noise.length * 3);
  });

  it('never answers but talks: its last skipped lines stand in the timeout', async () => {
    const rules = [{ method: 'tools/call', before: ['debug: got your call\n'], reply: null }];
    const runtime = await start({ s: scripted({ rules }) });
    await runtime.ready();
    const error = await failureOf(runtime.callTool('mcp__s__echo', { text: 'x' }, { timeoutMs: 200 }));
    expect(error.code).toBe('TIMEOUT');
    expect(error.message).toContain('debug: got your call');
  });

  it.each([1, 2, 3, 7])('writes %i bytes at a time keeps every character (B003)', async (pieceBytes) => {
    expect(await echoThrough({ wire: { pieceBytes } }, '读—🎉é')).toBe('读—🎉é');
  });

  it('puts a BOM before a message is understood (B005)', async () => {
    expect(await echoThrough({ wire: { bom: true } })).toBe('plain');
  });

  it('ends its lines with CRLF and sends empty ones is understood (B006)', async () => {
    expect(await echoThrough({ wire: { eol: '\r\n', noise: ['', '\r'] } })).toBe('plain');
  });

  it('wraps replies in an array is understood, with a warning (B014)', async () => {
    const runtime = await start({ s: scripted({ wire: { batch: true } }) });
    await runtime.ready();
    expect((await runtime.callTool('mcp__s__echo', { text: 'b' })).text()).toBe('b');
    expect((await runtime.status()).servers[0]?.warnings.join()).toContain('array');
  });

  it('sends ids back as strings is understood (B015)', async () => {
    expect(await echoThrough({ wire: { stringIds: true } })).toBe('plain');
  });

  it('sends each response twice, and unknown ones, loses nothing (B017)', async () => {
    const rules = [
      { method: 'tools/call', after: [{ json: { jsonrpc: '2.0' as const, id: 999_999, result: {} } }] },
    ];
    const runtime = await start({ s: scripted({ wire: { copies: 2 }, rules }) });
    await runtime.ready();
    for (const text of ['1', '2', '3'])
      expect((await runtime.callTool('mcp__s__echo', { text })).text()).toBe(text);
  });

  it('answers with Content-Length headers fails at once, with the name of the mistake (B013)', async () => {
    const runtime = await start(
      { s: scripted({ wire: { contentLength: true } }) },
      { limits: { restartMax: 0 } },
    );
    const report = await runtime.ready({ timeoutMs: 8_000 });
    expect(report.failed[0]?.reason?.message).toContain('Content-Length');
  });

  it('ends without a newline after its last reply: the reply counts (B021)', async () => {
    const rules = [{ method: 'tools/call', wire: { eol: '' }, exit: { code: 0 } }];
    const runtime = await start({ s: scripted({ rules }) });
    await runtime.ready();
    expect((await runtime.callTool('mcp__s__echo', { text: 'last words' })).text()).toBe('last words');
  });

  it('answers an envelope that is no answer fails that call at once (B014, envelope)', async () => {
    for (const bytes of [
      '{"id":$id,"result":{"content":[]}}\n',
      '{"jsonrpc":"2.0","id":$id,"result":null}\n',
      '{"jsonrpc":"2.0","id":$id,"error":{"message":"no code"}}\n',
      '{"jsonrpc":"2.0","id":$id}\n',
    ]) {
      const runtime = await start({
        s: scripted({ rules: [{ method: 'tools/call', reply: { bytes: [bytes] } }] }),
      });
      await runtime.ready();
      const error = await failureOf(runtime.callTool('mcp__s__echo', { text: 'x' }, { timeoutMs: 20_000 }));
      expect(error.code).toBe('PROTOCOL_ERROR');
      await runtime.close();
    }
  });
});

describe('neighbours', () => {
  it('of a server that answers 11 MiB above its limit finish their calls (B007)', async () => {
    const runtime = await start({
      a: { ...scripted({}), maxMessageBytes: 10_000_000 },
      b: scripted({}),
    });
    await runtime.ready();
    const [a, b] = await Promise.allSettled([
      runtime.callTool('mcp__a__big', { bytes: 11 * 1024 * 1024 }),
      runtime.callTool('mcp__b__sleep', { ms: 100 }),
    ]);
    expect(a).toMatchObject({ status: 'rejected', reason: { code: 'TOO_LARGE' } });
    expect(b.status).toBe('fulfilled');
  });

  it('of a server that floods without a newline finish theirs, and memory stays bounded (B010)', async () => {
    const floods = [
      { on: 'tools/call', stream: 'stdout' as const },
      { on: 'tools/call', stream: 'stderr' as const, separator: '\r', lineBytes: 50 },
    ];
    const rules = [{ method: 'tools/call', reply: null }];
    const runtime = await start({
      bad: { ...scripted({ floods, rules }), maxMessageBytes: 1_000_000 },
      good: scripted({}),
    });
    await runtime.ready();
    const before = process.memoryUsage().rss;
    const flooding = failureOf(runtime.callTool('mcp__bad__echo', { text: 'x' }, { timeoutMs: 1_500 }));
    for (let i = 0; i < 200; i++) await runtime.callTool('mcp__good__echo', { text: `${i}` });
    expect(await flooding).toMatchObject({ code: 'TIMEOUT' });
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    expect(runtime.server('good').state).toBe('ready');
  });
});
