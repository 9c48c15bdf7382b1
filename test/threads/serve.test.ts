import { serveHttp } from '@bulkhead/runtime/serve';
import { expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { readRecord } from '../support/record.js';
import { useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const path = useTempDir();
const open = useRuntime(path);

test('a program that serves its runtime decides about each call by its gate, with the route control', async () => {
  const routes: string[] = [];
  const runtime = await open(
    { s: scripted({ record: path('record') }) },
    {
      gate: {
        check: ({ route, identity }) => {
          routes.push(route);
          return identity.tool === 'echo'
            ? { allow: true }
            : { allow: false, reason: 'only echo is allowed' };
        },
      },
    },
  );
  const service = await serveHttp(runtime, { info: { name: 'test', version: '1.0.0' } });
  let session: string | null = null;
  const ask = async (id: number, method: string, params: Record<string, unknown>) => {
    const response = await fetch(service.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${service.token}`,
        connection: 'close',
        ...(session === null ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    });
    session ??= response.headers.get('mcp-session-id');
    const [, event = ''] = /^data: (.*)$/m.exec(await response.text()) ?? [];
    return JSON.parse(event) as { result: { isError?: boolean; content: unknown; _meta?: unknown } };
  };
  try {
    const clientInfo = { name: 't', version: '1' };
    await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    const allowed = await ask(2, 'tools/call', {
      name: 'mcp__s__echo',
      arguments: { text: 'hello' },
      _meta: { traceparent, 'other/member': 'of the client' },
    });
    expect(allowed.result).toEqual({ content: [{ type: 'text', text: 'hello' }] });
    const denied = await ask(3, 'tools/call', { name: 'mcp__s__fail', arguments: { text: 'x' } });
    expect(denied.result).toMatchObject({
      isError: true,
      _meta: { 'bulkhead/code': 'DENIED', 'bulkhead/server': 's' },
    });
    expect(JSON.stringify(denied.result.content)).toContain('only echo is allowed');
    expect(routes).toEqual(['control', 'control']);
    const calls = readRecord(path('record')).messages.filter(({ method }) => method === 'tools/call');
    // The trace goes on through us; what else the client says of its request stays here.
    expect(calls.map(({ params }) => params?._meta)).toEqual([
      { progressToken: expect.anything(), traceparent },
    ]);
  } finally {
    await service.close();
  }
});
