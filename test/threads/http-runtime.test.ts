/** Remote servers through the whole runtime: threads, supervisor and lane. */
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { json, type Rule, sse, useHttp } from '../support/http-script.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const serve = useHttp();

const onCall =
  (rule: Rule): Rule =>
  (request, response, server) =>
    request.message?.method === 'tools/call' ? rule(request, response, server) : false;

describe('a remote server', () => {
  it('is called', async () => {
    const server = await serve();
    const runtime = await start({ r: { type: 'http', url: server.url } });
    await runtime.ready();
    expect((await runtime.callTool('mcp__r__echo', { n: 1 })).text()).toBe('{"n":1}');
  });

  it('has its session closed with the runtime (B141)', async () => {
    const server = await serve();
    const runtime = await start({ r: { type: 'http', url: server.url } });
    await runtime.ready();
    await runtime.close();
    expect(server.sent('DELETE')).toHaveLength(1);
  });

  it('that forgets its session answers all the same, without a restart (B122)', async () => {
    const server = await serve();
    const runtime = await start({ r: { type: 'http', url: server.url } });
    await runtime.ready();
    server.sessions.clear();
    const results = await Promise.all([1, 2, 3].map((n) => runtime.callTool('mcp__r__echo', { n })));
    expect(results.map((result) => result.text())).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
    expect((await runtime.status()).servers[0]).toMatchObject({ state: 'ready', restarts: 0 });
  });

  it('whose stream breaks before the answer leaves the outcome unknown, at once (B127)', async () => {
    const server = await serve(
      onCall((_, response) => {
        sse(response).end(': nothing\n\n');
        return true;
      }),
    );
    const runtime = await start({ r: { type: 'http', url: server.url } });
    await runtime.ready();
    expect(await failureOf(runtime.callTool('mcp__r__echo', {}))).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      server: 'r',
      tool: 'echo',
    });
  });

  it('that refuses the credentials is parked with the status (B142)', async () => {
    const server = await serve((_, response) => json(response, 403, 'no entry'));
    const runtime = await start({
      r: { type: 'http', url: server.url, headers: { Authorization: 'Bearer not-this-one' } },
    });
    const { failed } = await runtime.ready();
    expect(failed[0]?.reason?.message).toContain('403');
    expect(failed[0]?.reason?.message).not.toContain('not-this-one');
    expect(server.sent('GET')).toHaveLength(0);
  });
});
