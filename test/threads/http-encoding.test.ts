/** Answers that come compressed, as gateways send them. */
import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { type Message, useHttp } from '../support/http-script.js';
import { useRuntime } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const serve = useHttp();

const answerTo = (message: Message | undefined, text: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: message?.id, result: { content: [{ type: 'text', text }] } });

describe('an answer', () => {
  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('in %s is read', async (coding, compress) => {
    const text = 'é'.repeat(200_000);
    const server = await serve(({ message, headers }, response) => {
      if (message?.method !== 'tools/call') return false;
      expect(headers['accept-encoding']).toContain('gzip');
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding });
      response.end(compress(answerTo(message, text)));
      return true;
    });
    const runtime = await start({ r: { type: 'http', url: server.url } });
    await runtime.ready();
    expect((await runtime.callTool('mcp__r__echo', {})).text()).toBe(text);
  });

  it('in a compressed stream of events is read before the stream ends', async () => {
    let release = () => {};
    const server = await serve(({ message }, response) => {
      if (message?.method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      const zip = createGzip();
      zip.pipe(response);
      zip.write(`data: ${answerTo(message, 'soon')}\n\n`);
      zip.flush(constants.Z_SYNC_FLUSH);
      release = () => zip.end();
      return true;
    });
    const runtime = await start({ r: { type: 'http', url: server.url } });
    await runtime.ready();
    expect((await runtime.callTool('mcp__r__echo', {})).text()).toBe('soon');
    release();
  });

  it('that says gzip and is not fails its call alone', async () => {
    const server = await serve(({ message }, response) => {
      if (message?.method !== 'tools/call' || message.params?.arguments === undefined) return false;
      if (!('bad' in (message.params.arguments as object))) return false;
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(answerTo(message, 'plain'));
      return true;
    });
    const runtime = await start({ r: { type: 'http', url: server.url } });
    await runtime.ready();
    await expect(runtime.callTool('mcp__r__echo', { bad: 1 })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
    });
    expect((await runtime.callTool('mcp__r__echo', { n: 1 })).text()).toBe('{"n":1}');
  });
});
