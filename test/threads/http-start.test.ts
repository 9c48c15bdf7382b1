/** HTTP before the first call: versions, fallback to the older SSE, redirects, and the optional listening stream. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { answerTo, event, json, type Message, type Rule, sse, useHttp } from '../support/http-script.js';
import { useHttpSession } from '../support/http-session.js';

useCensus();
const serve = useHttp();
const connect = useHttpSession();

/** A server of the older transport at `/mcp`: the stream by GET, `endpoint` is what it names. */
function older(
  endpoint: (origin: string) => string,
  onPost: Rule = (_, response) => json(response, 405, ''),
): Rule {
  let stream: Parameters<Rule>[1] | undefined;
  return (request, response, server) => {
    if (request.method === 'GET') {
      stream = sse(response);
      stream.write(`event: endpoint\ndata: ${endpoint(server.origin)}\n\n`);
      return true;
    }
    if (request.path === '/mcp') return onPost(request, response, server);
    response.writeHead(202).end('Accepted');
    const { message } = request;
    if (message?.id !== undefined) stream?.write(event(answerTo(message)));
    return true;
  };
}

describe('the handshake', () => {
  it('takes the best version that a refusal names (B045)', async () => {
    const refusals: ((message: Message) => [number, string])[] = [
      () => [400, 'Bad Request: Unsupported protocol version (supported: 2024-11-05, 2025-06-18)'],
      ({ id }) => [
        200,
        `{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-06-18"]}}}`,
      ],
    ];
    for (const refusal of refusals) {
      const server = await serve(({ message }, response) => {
        if (message?.method !== 'initialize' || message.params?.protocolVersion === '2025-06-18')
          return false;
        return json(response, ...refusal(message));
      });
      expect((await connect(server.url).open()).protocolVersion).toBe('2025-06-18');
      expect(server.posted('initialize')).toHaveLength(2);
    }
  });

  it.each([401, 403, 500])('answered by %i is that failure, and no SSE is tried (B142)', async (status) => {
    const server = await serve((_, response) => json(response, status, 'because of my-secret-token'));
    const session = connect(`${server.url}?key=hidden`, {
      headers: [['Authorization', 'Bearer my-secret-token']],
    });
    await expect(session.open()).rejects.toThrow(`HTTP ${status}`);
    expect(server.sent('GET')).toHaveLength(0);
    expect(session.ended?.kind).toBe(status === 500 ? 'http' : 'auth');
    expect(session.ended?.message).toContain('because of ***');
    expect(session.ended?.message).not.toContain('hidden');
  });

  it('that finds nobody says so (B142)', async () => {
    const server = await serve();
    const { url } = server;
    await server.close();
    const session = connect(url);
    await expect(session.open()).rejects.toThrow('ECONNREFUSED');
    expect(session.ended).toMatchObject({ kind: 'network' });
  });

  it('refused by both transports keeps the first failure in front (B142)', async () => {
    const server = await serve((_, response) => json(response, 404, 'no such page'));
    const session = connect(server.url);
    await expect(session.open()).rejects.toThrow(
      /^initialize failed: .*HTTP 404 to POST .*no such page.*older SSE/s,
    );
    expect(server.posted('initialize')).toHaveLength(1);
  });
});

describe('the older SSE transport', () => {
  const calls = async (rule: Rule, type: 'http' | 'sse' = 'http') => {
    const server = await serve(rule);
    const session = connect(server.url, { type });
    await session.open();
    expect(await session.call({ n: 7 })).toEqual({ text: expect.stringContaining('7') });
    return server;
  };

  it.each([400, 404, 405])('is found after a %i to initialize (B142)', async (status) => {
    await calls(
      older(
        () => '/messages?sessionId=1',
        (_, response) => json(response, status, ''),
      ),
    );
  });

  it('is found when POST is wrongly answered with its endpoint event (B143)', async () => {
    const wrongly: Rule = (_, response) => {
      sse(response).write('event: endpoint\ndata: /messages\n\n');
      return true;
    };
    await calls(older(() => '/messages', wrongly));
  });

  it.each([
    ['a path', () => '/messages?sessionId=1', '/messages?sessionId=1'],
    ['a relative name', () => 'messages', '/messages'],
    ['a full address', (origin: string) => `${origin}/m`, '/m'],
  ])('takes %s as its endpoint (B143)', async (_name, endpoint, path) => {
    const server = await calls(older(endpoint), 'sse');
    expect(server.posted('tools/call')[0]?.path).toBe(path);
  });

  it('refuses an endpoint on another origin (B143)', async () => {
    const other = await serve();
    const server = await serve(older(() => `${other.origin}/messages`));
    const session = connect(server.url, { type: 'sse' });
    await expect(session.open()).rejects.toThrow('another origin');
    expect(other.requests).toEqual([]);
  });

  it('is over when its stream ends', async () => {
    let end = () => {};
    const rule = older(() => '/messages');
    const server = await serve((request, response, own) => {
      if (request.method === 'GET') end = () => response.end();
      return rule(request, response, own);
    });
    const session = connect(server.url, { type: 'sse' });
    await session.open();
    end();
    await eventually(
      () => session.ended?.kind === 'closed',
      () => 'the end',
    );
  });
});

describe('a redirect', () => {
  const redirect =
    (status: number, to: string): Rule =>
    ({ path }, response) => {
      if (path !== '/mcp') return false;
      response.writeHead(status, { location: to }).end();
      return true;
    };

  it.each([307, 308])('by %i on the same origin is followed with its body (B138)', async (status) => {
    const server = await serve(redirect(status, '/mcp/'));
    const session = connect(server.url);
    await session.open();
    expect(await session.call({ n: 5 })).toEqual({ text: expect.stringContaining('5') });
  });

  it.each([301, 302, 303])('by %i of a POST is an error that names the target (B138)', async (status) => {
    const server = await serve(redirect(status, '/elsewhere'));
    const session = connect(server.url);
    await expect(session.open()).rejects.toThrow('/elsewhere');
    expect([server.requests.length, session.ended?.kind]).toEqual([1, 'config']);
  });

  it('in a circle ends after a few hops (B138)', async () => {
    const server = await serve(redirect(307, '/mcp'));
    await expect(connect(server.url).open()).rejects.toThrow('more than 3 times');
    expect(server.requests).toHaveLength(4);
  });

  it.each([302, 307, 308])(
    'by %i to another origin is refused; nothing goes there (B139)',
    async (status) => {
      const other = await serve();
      const server = await serve(redirect(status, other.url));
      const session = connect(server.url, { headers: [['X-Key', 'secret']] });
      await expect(session.open()).rejects.toThrow(`another origin, ${other.url}`);
      expect(other.requests).toEqual([]);
    },
  );
});

describe('the listening stream', () => {
  const onGet =
    (rule: Rule): Rule =>
    (request, response, server) =>
      request.method === 'GET' ? rule(request, response, server) : false;

  it.each([400, 404, 405, 406, 415, 501])(
    'refused by %i leaves POST alone at work (B125)',
    async (status) => {
      const server = await serve(onGet((_, response) => json(response, status, '')));
      const session = connect(server.url);
      await session.open();
      expect(await session.call()).toHaveProperty('text');
      expect([server.sent('GET').length, session.warnings, server.posted('initialize').length]).toEqual([
        1,
        [],
        1,
      ]);
    },
  );

  it('that is never answered holds nothing up (B125)', async () => {
    const server = await serve(onGet(() => true));
    const session = connect(server.url);
    await session.open();
    expect(await session.call()).toHaveProperty('text');
  });

  it('that opens and ends at once is not opened in a loop (B126)', async () => {
    const server = await serve(
      onGet((_, response) => {
        sse(response).end(': hello\n\n');
        return true;
      }),
    );
    const session = connect(server.url);
    await session.open();
    const [first] = await eventually(
      () => server.sent('GET').length >= 2 && server.sent('GET'),
      () => 'the second stream',
    );
    expect((server.sent('GET')[1]?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(990);
  });

  it('brings what the server says unasked, and goes on after it was cut, from where it was (B137)', async () => {
    const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
    const server = await serve(
      onGet((_, response) => {
        sse(response).end(event(changed, `e${server.sent('GET').length}`));
        return true;
      }),
    );
    const session = connect(server.url);
    await session.open();
    await eventually(
      () => session.toolChanges >= 2,
      () => 'two messages',
    );
    expect(server.sent('GET')[1]?.headers['last-event-id']).toBe('e1');
    expect(session.warnings).toEqual([]);
  });
});

describe('a server on the SDK', () => {
  let end: (() => Promise<unknown>) | undefined;
  afterEach(async () => {
    await end?.();
    end = undefined;
  });
  const run = async (): Promise<string> => {
    const file = new URL('../fixtures/http/sdk-server.mjs', import.meta.url).pathname;
    const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    end = () => {
      child.stdin.end();
      return exited;
    };
    const [line] = await once(child.stdout, 'data');
    return String(line).trim();
  };

  it.each([
    ['http', '/mcp'],
    ['sse', '/sse'],
  ] as const)('is called over %s, with progress and a list that grows', async (type, path) => {
    const origin = await run();
    const session = connect(`${origin}${path}`, { type });
    const catalog = await session.open();
    expect(catalog.tools.map(({ name }) => name)).toEqual(['echo', 'slow', 'grow']);
    const call = (name: string, args: unknown) => session.call(args, name);
    expect(await call('echo', { text: 'hi' })).toEqual({ text: expect.stringContaining('"hi"') });
    expect(await call('slow', { steps: 3 })).toEqual({ text: expect.stringContaining('done') });
    expect(session.progress).toHaveLength(3);
    await call('grow', {});
    await eventually(
      () => session.toolChanges > 0,
      () => 'the change of the list',
    );
    expect((await session.session.readCatalog(5_000)).tools.map(({ name }) => name)).toContain('grown');
  });

  it('that forgets its sessions is called on in a new one', async () => {
    const origin = await run();
    const session = connect(`${origin}/mcp`);
    await session.open();
    await fetch(`${origin}/forget`, { headers: { connection: 'close' } }).then((response) => response.text());
    expect(await session.call({ text: 'again' })).toEqual({ text: expect.stringContaining('again') });
    expect(session.renewals).toBe(1);
  });
});
