/** Streamable HTTP: calls, sessions that get lost, streams that break. Straight on the transport, real sockets. */
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { answerTo, event, json, type Received, type Rule, sse, useHttp } from '../support/http-script.js';
import { useHttpSession } from '../support/http-session.js';

useCensus();
const serve = useHttp();
const connect = useHttpSession();

const isCall = ({ message }: Received) => message?.method === 'tools/call';
/** A rule for calls alone; everything else is answered well. */
const onCall =
  (rule: Rule): Rule =>
  (request, response, server) =>
    isCall(request) ? rule(request, response, server) : false;

describe('a session', () => {
  it('opens, calls with exact digits, and says goodbye', async () => {
    const big = '{"content":[],"structuredContent":{"n":12345678901234567890}}';
    const server = await serve(
      onCall(({ message }, response) =>
        json(response, 200, `{"jsonrpc":"2.0","id":${message?.id},"result":${big}}`),
      ),
    );
    const session = connect(server.url, { headers: [['X-Key', 'secret']] });
    const catalog = await session.open();
    expect(catalog.tools.map(({ name }) => name)).toEqual(['echo']);
    expect(await session.call()).toEqual({ text: expect.stringContaining('12345678901234567890') });
    await session.transport.close();
    expect(server.sent('DELETE')[0]?.headers['mcp-session-id']).toBe('s1');
    expect(server.requests.every(({ headers }) => headers['x-key'] === 'secret')).toBe(true);
    expect(server.posted('initialize')[0]?.headers['mcp-protocol-version']).toBeUndefined();
    expect(server.posted('tools/call')[0]?.headers['mcp-protocol-version']).toBe(catalog.protocolVersion);
    expect(server.requests.map(({ message }) => message?.method).slice(0, 2)).toEqual([
      'initialize',
      'notifications/initialized',
    ]);
  });

  it('that the server forgot is renewed once for ten parallel calls, which all succeed (B122)', async () => {
    const server = await serve();
    const session = connect(server.url);
    await session.open();
    server.sessions.clear();
    const ends = await Promise.all(Array.from({ length: 10 }, (_, n) => session.call({ n })));
    expect(ends.every((end) => 'text' in end)).toBe(true);
    expect(server.posted('initialize')).toHaveLength(2);
    expect([session.renewals, session.toolChanges, session.ended]).toEqual([1, 1, undefined]);
  });

  it('that is never kept fails the call as not carried out, after one repetition (B122)', async () => {
    const server = await serve(onCall((_request, response) => json(response, 404, '')));
    const session = connect(server.url);
    await session.open();
    expect(await session.call()).toMatchObject({ failed: { code: 'CONNECTION_LOST' } });
    expect([server.posted('tools/call').length, server.posted('initialize').length]).toEqual([2, 2]);
    for (let i = 0; i < 3; i++) await session.call();
    await eventually(
      () => session.ended?.kind === 'session',
      () => 'the end of the session',
    );
    expect(server.posted('initialize')).toHaveLength(4);
  });

  const gone = (id: unknown) =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":-32001,"message":"Session expired"}}`;
  const shapes: [string, Rule][] = [
    ['400', (_, response) => json(response, 400, 'Bad Request: No valid session ID provided')],
    ['200 with an error for the call', ({ message }, response) => json(response, 200, gone(message?.id))],
    ['200 with an error for nobody', (_, response) => json(response, 200, gone(null))],
    [
      '200 with an error event',
      ({ message }, response) => {
        sse(response).end(`event: error\n${event(gone(message?.id))}`);
        return true;
      },
    ],
  ];
  it.each(shapes)('whose loss is told by %s is renewed, once (B123)', async (_name, tell) => {
    const server = await serve(
      onCall((request, response, own) =>
        own.posted('tools/call').length === 1 ? tell(request, response, own) : false,
      ),
    );
    const session = connect(server.url);
    await session.open();
    expect(await session.call({ n: 1 })).toHaveProperty('text');
    expect(server.posted('initialize')).toHaveLength(2);
  });

  it.each([401, 403, 400, 500])(
    'is not renewed over an HTTP %i about something else (B123)',
    async (status) => {
      const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Unauthorized"}}';
      const server = await serve(onCall((_, response) => json(response, status, body)));
      const session = connect(server.url);
      await session.open();
      expect(await session.call()).toMatchObject({ failed: { data: { status } } });
      expect(server.posted('initialize')).toHaveLength(1);
    },
  );

  it('closes in time when DELETE is refused or hangs (B141)', async () => {
    for (const status of [404, 405, 500, 0]) {
      const server = await serve(({ method }, response) => {
        if (method !== 'DELETE') return false;
        if (status !== 0) response.writeHead(status).end();
        return true;
      });
      const session = connect(server.url);
      await session.open();
      const startedAt = performance.now();
      await session.transport.close();
      expect(performance.now() - startedAt).toBeLessThan(1_800);
      expect(server.sent('DELETE')).toHaveLength(1);
    }
  });
});

describe('an answer', () => {
  it.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])(
    'as events with %s line ends, byte by byte, with comments and empty data, arrives (B129, B130, B131)',
    async (_name, end) => {
      const server = await serve(
        onCall(async ({ message }, response) => {
          const [head, tail] = answerTo(message as never).split(',"id"');
          const text =
            `: hello\n\nid: 1\ndata:\n\nevent: message\ndata: ${head}\ndata: ,"id"${tail}\n\n`.replaceAll(
              '\n',
              end,
            );
          sse(response);
          response.socket?.setNoDelay(true);
          for (const byte of Buffer.from(text)) {
            response.write(Buffer.of(byte));
            await new Promise(setImmediate);
          }
          response.end();
          return true;
        }),
      );
      const session = connect(server.url);
      await session.open();
      expect(await session.call({ x: '读🎉' })).toEqual({ text: expect.stringContaining('读🎉') });
    },
  );

  it.each([
    ['ends', false],
    ['is reset', true],
  ])('whose stream %s before the response fails at once as unknown (B127, B159)', async (_name, reset) => {
    const server = await serve(
      onCall(({ message }, response) => {
        const progressToken = message?.id;
        const params = { progressToken, progress: 1 };
        sse(response).write(
          event(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })),
          () => {
            if (reset) response.socket?.resetAndDestroy();
            else response.end();
          },
        );
        return true;
      }),
    );
    const session = connect(server.url);
    await session.open();
    expect(await session.call()).toMatchObject({ failed: { code: 'OUTCOME_UNKNOWN' } });
    if (!reset) expect(session.progress).toHaveLength(1);
    expect(session.ended).toBeUndefined();
  });

  it('is fetched by GET with the id of its stream, after the wait that was asked for (B127, B133)', async () => {
    let asked: Received['message'];
    const server = await serve((request, response) => {
      if (isCall(request)) {
        asked = request.message;
        sse(response).end('retry: 300\nid: e1\ndata:\n\n');
        return true;
      }
      if (request.headers['last-event-id'] === undefined) return false;
      sse(response).end(event(answerTo(asked as never), 'e2'));
      return true;
    });
    const session = connect(server.url);
    await session.open();
    expect(await session.call()).toHaveProperty('text');
    const [call] = server.posted('tools/call');
    const resumed = server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined);
    expect(resumed.map(({ method, headers }) => [method, headers['last-event-id']])).toEqual([['GET', 'e1']]);
    expect((resumed[0]?.at ?? 0) - (call?.at ?? 0)).toBeGreaterThan(290);
  });

  it("of another call, replayed on a resumed stream, does not end this call's reading (B134)", async () => {
    const asked: NonNullable<Received['message']>[] = [];
    const server = await serve((request, response) => {
      if (isCall(request)) {
        asked.push(request.message as never);
        sse(response).end(`retry: 100\nid: ${asked.length}\ndata:\n\n`);
        return true;
      }
      const id = Number(request.headers['last-event-id']);
      if (Number.isNaN(id)) return false;
      const [own, other] = id === 1 ? [asked[0], asked[1]] : [asked[1], asked[0]];
      sse(response).end(event(answerTo(other as never)) + event(answerTo(own as never)));
      return true;
    });
    const session = connect(server.url);
    await session.open();
    const [first, second] = await Promise.all([session.call({ n: 'one' }), session.call({ n: 'two' })]);
    expect(first).toEqual({ text: expect.stringContaining('one') });
    expect(second).toEqual({ text: expect.stringContaining('two') });
  });

  it.each(['application/json', 'text/event-stream'])(
    'above maxMessageBytes as %s fails its call alone',
    async (type) => {
      const server = await serve(
        onCall(({ message }, response) => {
          if (JSON.stringify(message).includes('small')) return false;
          const body = answerTo(message as never, { content: [{ type: 'text', text: 'x'.repeat(300_000) }] });
          if (type === 'application/json') return json(response, 200, body);
          sse(response).end(event(body));
          return true;
        }),
      );
      const session = connect(server.url, { maxMessageBytes: 100_000 });
      await session.open();
      const [large, small] = await Promise.all([session.call(), session.call({ small: 1 })]);
      expect(large).toEqual({ oversize: expect.any(Number) });
      expect((large as { oversize: number }).oversize).toBeGreaterThan(300_000);
      expect(small).toHaveProperty('text');
    },
  );

  it('of 400 whose id is made up is an HTTP error at once (B049)', async () => {
    const body = '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no such thing"}}';
    const server = await serve(onCall((_, response) => json(response, 400, body)));
    const session = connect(server.url);
    await session.open();
    const end = await session.call();
    expect(end).toMatchObject({ failed: { data: { status: 400 } } });
    expect(JSON.stringify(end)).toContain('no such thing');
  });

  it('of 400 that names the call is its answer; 202 and empty bodies fail it', async () => {
    const replies: Rule[] = [
      ({ message }, response) =>
        json(response, 400, `{"jsonrpc":"2.0","id":${message?.id},"error":{"code":-32602,"message":"bad"}}`),
      (_, response) => json(response, 202, ''),
      (_, response) => json(response, 200, ''),
      (_, response) => json(response, 200, '<html>'),
    ];
    const server = await serve(onCall((request, response, own) => replies.shift()?.(request, response, own)));
    const session = connect(server.url);
    await session.open();
    expect(await session.call()).toEqual({ text: expect.stringContaining('-32602') });
    for (let i = 0; i < 3; i++)
      expect(await session.call()).toMatchObject({ failed: { code: 'PROTOCOL_ERROR' } });
  });

  it('to a notification may be any 2xx (B135)', async () => {
    const replies: Rule[] = [
      (_, response) => json(response, 200, ''),
      (_, response) => json(response, 200, '{}', { 'content-type': 'text/plain' }),
      (_, response) => json(response, 202, 'accepted'),
      (_, response) => json(response, 204, ''),
      (_, response) => json(response, 200, '{"jsonrpc":"2.0","id":1,"result":{}}'),
    ];
    for (const reply of replies) {
      const server = await serve((request, response, own) =>
        request.message?.method === 'notifications/initialized' ? reply(request, response, own) : false,
      );
      const session = connect(server.url);
      expect((await session.open()).tools).toHaveLength(1);
      expect(session.warnings).toEqual([]);
    }
  });
});

describe('a cancelled call', () => {
  it('is told to the server and its POST is cut', async () => {
    let cut = false;
    const server = await serve(
      onCall((_request, response) => {
        sse(response);
        response.once('close', () => {
          cut = true;
        });
        return true;
      }),
    );
    const session = connect(server.url);
    await session.open();
    const { id } = session.start();
    await eventually(
      () => server.posted('tools/call').length === 1,
      () => 'the call',
    );
    session.cancel(id);
    await eventually(
      () => cut && server.posted('notifications/cancelled').length === 1,
      () => 'the cut and the notification',
    );
  });
});

describe('a connection', () => {
  it.each(['stream', 'headers'])(
    'reset during the %s rejects only its call; nothing is left unhandled (B159)',
    async (when) => {
      const server = await serve(
        onCall((request, response) => {
          if (JSON.stringify(request.message).includes('fine')) return false;
          if (when === 'stream') sse(response).write('data: {"js', () => response.socket?.resetAndDestroy());
          else response.socket?.resetAndDestroy();
          return true;
        }),
      );
      const session = connect(server.url);
      await session.open();
      expect(await session.call()).toMatchObject({ failed: { code: 'OUTCOME_UNKNOWN' } });
      expect(await session.call({ fine: 1 })).toHaveProperty('text');
    },
  );

  it('that is refused was never sent; after three the session is over', async () => {
    const server = await serve();
    const session = connect(server.url);
    await session.open();
    await server.close();
    // The first may still meet a kept connection as it dies.
    await session.call();
    expect(await session.call()).toMatchObject({ failed: { code: 'CONNECTION_LOST' } });
    await session.call();
    expect(session.ended).toMatchObject({ kind: 'network' });
  });
});
