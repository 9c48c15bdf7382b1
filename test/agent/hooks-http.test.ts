/** HTTP hooks against a real server: the request, the answers that decide, and the ones that are no answer. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';
import { callOf, pre, useHooks } from './hooks-setting.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const { environment, load, start, startWith, write } = useHooks(directory);

describe('an HTTP hook', () => {
  let server: Server | undefined;
  const seen: { path: string; token: unknown; body: Record<string, unknown> }[] = [];
  afterEach(async () => {
    seen.length = 0;
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
    server = undefined;
  });

  async function listen(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<string> {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', () => {
        const { url = '', headers } = request;
        seen.push({
          path: url,
          token: headers['x-token'],
          body: JSON.parse(body) as Record<string, unknown>,
        });
        answer(request, response);
      });
    });
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('gets the same JSON with its headers, and decides by its answer', async () => {
    const origin = await listen((_request, response) =>
      response.end('{"decision": "block", "reason": "quota"}'),
    );
    write('user', {
      hooks: pre({ type: 'http', url: `${origin}/check`, headers: { 'X-Token': `\${HOOK_TOKEN}` } }),
    });
    const { rules } = await load({ env: environment({ HOOK_TOKEN: 'abc' }) });
    const hooks = await start({ rules });
    expect(await hooks.preToolUse(callOf())).toMatchObject({ decision: 'block', reason: 'quota' });
    expect(seen).toMatchObject([
      { path: '/check', token: 'abc', body: { event: 'PreToolUse', args: { a: 1 } } },
    ]);
  });

  it('that answers with an empty 200 lets the call go on', async () => {
    const origin = await listen((_request, response) => response.end());
    const hooks = await startWith(pre({ type: 'http', url: origin }));
    expect(await hooks.preToolUse(callOf())).toMatchObject({ decision: 'allow' });
  });

  it('that redirects is not followed, and has not agreed', async () => {
    const origin = await listen((_request, response) =>
      response.writeHead(307, { location: '/elsewhere' }).end('{"decision": "allow"}'),
    );
    const hooks = await startWith(pre({ type: 'http', url: `${origin}/check` }));
    const decision = await hooks.preToolUse(callOf());
    expect(decision.decision === 'block' && decision.reason).toContain(
      `redirects (307) to ${origin}/elsewhere`,
    );
    expect(seen.map(({ path }) => path)).toEqual(['/check']);
  });

  it.each([
    ['with a 500', (response: ServerResponse) => response.writeHead(500).end(), 'status 500'],
    [
      'with too much',
      (response: ServerResponse) => response.end('x'.repeat(100_000)),
      'more than 65536 bytes',
    ],
    ['never', () => {}, 'took longer than 300 ms'],
    ['by hanging up', (response: ServerResponse) => response.destroy(), 'could not be reached'],
  ])('that answers %s fails', async (_what, answer, said) => {
    const origin = await listen((_request, response) => answer(response));
    const hooks = await startWith(pre({ type: 'http', url: origin, timeoutMs: 300 }));
    const decision = await hooks.preToolUse(callOf());
    expect(decision.decision === 'block' && decision.reason).toContain(said);
  });
});
