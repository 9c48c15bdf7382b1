/** The stateless era over HTTP: what every request says in its headers, and which answers to the probe mean what. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { answerTo, event, json, type Message, type Rule, sse, useHttp } from '../support/http-script.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const serve = useHttp();

// Verdicts are remembered on disk: each test has a memory of its own.
const cacheHome = process.env.XDG_CACHE_HOME;
beforeEach(() => {
  process.env.XDG_CACHE_HOME = directory('cache');
});
afterEach(() => {
  if (cacheHome === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = cacheHome;
});

const echo = {
  name: 'echo',
  inputSchema: { type: 'object', properties: { city: { type: 'string', 'x-mcp-header': 'City' } } },
};
const badlyMarked = {
  name: 'bad',
  inputSchema: { type: 'object', properties: { n: { type: 'number', 'x-mcp-header': 'N' } } },
};

/** A server of the stateless era, where `rule` does not take over. */
const modern =
  (rule: Rule = () => false, capabilities: Record<string, unknown> = { tools: {} }): Rule =>
  async (request, response, server) => {
    if ((await rule(request, response, server)) !== false) return true;
    const { message } = request;
    if (message === undefined) return false;
    switch (message.method) {
      case 'server/discover':
        return reply(message, { supportedVersions: ['2026-07-28'], capabilities });
      case 'tools/list':
        return reply(message, { tools: [echo, badlyMarked] });
      case 'tools/call':
        return reply(message, { content: [{ type: 'text', text: 'done' }] });
      default:
        return json(response, 400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown"}}');
    }
    function reply(to: Message, result: Record<string, unknown>): true {
      return json(response, 200, answerTo(to, { resultType: 'complete', ...result }), {
        'mcp-session-id': 'no',
      });
    }
  };

const only =
  (method: string, rule: Rule): Rule =>
  (request, response, server) =>
    request.message?.method === method ? rule(request, response, server) : false;

const versionOf = async (runtime: Awaited<ReturnType<typeof start>>) =>
  (await runtime.status()).servers[0]?.protocolVersion;

describe('a remote server of the stateless era', () => {
  it('is told version, method, name and marked arguments in headers, and no session', async () => {
    const server = await serve(modern());
    const runtime = await start({ r: { url: server.url, protocol: 'auto' } });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    await runtime.server('r').callTool('echo', { city: 'Zürich' });
    await runtime.close();
    expect(server.posted('tools/call')[0]?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
      'mcp-param-city': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
    });
    for (const { method, headers } of server.requests) {
      expect(method).toBe('POST');
      expect(headers).not.toHaveProperty('mcp-session-id');
    }
  });

  it('keeps its other tools when one marks its arguments wrongly', async () => {
    const server = await serve(modern());
    const runtime = await start({ r: { url: server.url, protocol: 'auto' } });
    await runtime.ready();
    expect(runtime.server('r').tools.map(({ name }) => name)).toEqual(['echo']);
    expect((await runtime.status()).servers[0]?.quarantinedTools).toMatchObject([{ name: 'bad' }]);
  });

  it('sees a cancelled call as a closed stream, without a message', async () => {
    const closed = deferred();
    const server = await serve(
      modern(
        only('tools/call', (_, response) => {
          sse(response).write(': working\n\n');
          response.once('close', () => closed.resolve(undefined));
          return true;
        }),
      ),
    );
    const runtime = await start({ r: { url: server.url, protocol: 'auto' } });
    await runtime.ready();
    const stop = new AbortController();
    const call = failureOf(runtime.server('r').callTool('echo', {}, { signal: stop.signal }));
    await eventually(
      () => server.posted('tools/call').length === 1,
      () => 'the tools/call to arrive',
    );
    stop.abort();
    expect(await call).toMatchObject({ code: 'CANCELLED' });
    await closed.promise;
    expect(server.posted('notifications/cancelled')).toHaveLength(0);
  });

  it('whose stream of notifications ends is listened to again', async () => {
    const server = await serve(
      modern(
        only('subscriptions/listen', (_, response) => {
          const stream = sse(response);
          stream.write(event('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', '1'));
          if (server.posted('subscriptions/listen').length === 1) stream.end();
          return true;
        }),
        { tools: { listChanged: true } },
      ),
    );
    const runtime = await start({ r: { url: server.url, protocol: 'auto' } });
    await runtime.ready();
    await eventually(
      () => server.posted('subscriptions/listen').length === 2,
      () => 'the subscriptions/listen to arrive',
    );
    expect(server.sent('GET')).toHaveLength(0);
    expect((await runtime.status()).servers[0]).toMatchObject({ state: 'ready', restarts: 0 });
  });
});

describe('the question for the era', () => {
  it.each([400, 404, 405])('answered by a bare %i leads to initialize', async (status) => {
    const server = await serve(only('server/discover', (_, response) => json(response, status, 'no')));
    const runtime = await start({ r: { url: server.url, protocol: 'auto' } });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(await versionOf(runtime)).toBe('2025-11-25');
    expect(server.posted('notifications/initialized')).toHaveLength(1);
  });

  it.each([401, 403, 500])('answered by %i says nothing about the era', async (status) => {
    const server = await serve(only('server/discover', (_, response) => json(response, status, 'no')));
    const runtime = await start({
      r: { url: server.url, protocol: 'auto', headers: { Authorization: 'Bearer x' } },
    });
    const ready = await runtime.ready({ timeoutMs: 1_500 });
    expect(ready.ok).toBe(false);
    expect(server.posted('initialize')).toHaveLength(0);
  });
});

function deferred() {
  let resolve: (value: unknown) => void = () => {};
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
