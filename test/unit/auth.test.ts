/** Signing in to remote servers: a real authorization server, real files, real processes; no browser. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { BulkheadError } from '../../packages/workers/src/errors.js';
import { bearerChallenge } from '../../packages/workers/src/server/auth/challenge.js';
import {
  type CredentialsOptions,
  credentialsFor,
} from '../../packages/workers/src/server/auth/credentials.js';
import { FileTokenStore } from '../../packages/workers/src/server/auth/file-store.js';
import { openKeyringStore } from '../../packages/workers/src/server/auth/keyring-store.js';
import { listenForRedirect } from '../../packages/workers/src/server/auth/redirect-listener.js';
import { resourceCovers } from '../../packages/workers/src/server/auth/resource.js';
import { scopesToAsk } from '../../packages/workers/src/server/auth/scopes.js';
import {
  type AuthRecord,
  forgetTokens,
  storeKey,
  type TokenStore,
} from '../../packages/workers/src/server/auth/token-store.js';
import { type AuthScript, FakeAuthorization } from '../fixtures/auth/authorization-server.js';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const temp = useTempDir();
const running: FakeAuthorization[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((fake) => fake.stop()));
});

async function start(script: AuthScript = {}): Promise<FakeAuthorization> {
  const fake = await FakeAuthorization.start(script);
  running.push(fake);
  return fake;
}

function client(fake: FakeAuthorization, options: Partial<CredentialsOptions> = {}) {
  const store = options.store ?? new FileTokenStore(temp('auth'));
  const all = { server: 'notes', serverUrl: fake.mcpUrl, headers: [], ...options, store };
  const credentials = credentialsFor(all);
  const send = credentials.wrap();
  return {
    ...credentials,
    store,
    key: storeKey(fake.mcpUrl, all.settings ?? {}),
    call: () => send(fake.mcpUrl, { method: 'POST', body: '{}' }),
  };
}

/** A browser in which everything is granted at once. */
async function browser(url: string): Promise<void> {
  const page = await fetch(url, { redirect: 'manual' });
  const location = page.headers.get('location');
  if (location === null) throw new Error(await page.text());
  await (await fetch(location)).text();
}

/** Leaves in the store what a sign-in leaves, with an access token that is refused by now. */
async function signedInBefore(fake: FakeAuthorization, store: TokenStore, key: string): Promise<AuthRecord> {
  const issued = fake.issue();
  fake.revoke(issued.access_token);
  const record: AuthRecord = {
    issuer: fake.origin,
    client: { clientId: 'earlier' },
    tokens: { accessToken: issued.access_token, refreshToken: issued.refresh_token },
    scopes: [],
  };
  await store.write(key, record);
  return record;
}

async function failure(promise: Promise<unknown>): Promise<BulkheadError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof BulkheadError)) throw new Error(`expected a BulkheadError, got ${String(error)}`);
  return error;
}

describe('without a person', () => {
  it('a server that needs a sign-in says so instead of waiting, and no client is registered', async () => {
    const fake = await start();
    const error = await failure(client(fake).call());
    expect(error).toMatchObject({ code: 'START_FAILED', retryable: false, data: { kind: 'auth' } });
    expect(error.message).toMatch(/"notes" needs a sign-in.*bulkhead login notes/);
    expect(JSON.stringify(error.data)).not.toContain('/authorize');
    expect(fake.at('/register')).toEqual([]);
  });

  it('a client with a secret gets its own token, with what the server asks for', async () => {
    const fake = await start({ challenge: () => 'Bearer scope="mcp"' });
    const settings = { grant: 'client_credentials', clientId: 'robot', clientSecret: 's:ecret' } as const;
    const { call, store, key } = client(fake, { settings });
    expect((await call()).status).toBe(200);
    const [request] = fake.at('/token');
    expect(request?.form.get('scope')).toBe('mcp');
    expect(request?.form.get('resource')).toBe(fake.mcpUrl);
    expect(atob(request?.headers.authorization?.slice(6) ?? '')).toBe('robot:s%3Aecret');
    expect(JSON.stringify(await store.read(key))).not.toContain('s:ecret');
  });

  it('a secret is not shown to another authorization server than the configured one', async () => {
    const fake = await start();
    const issuer = 'https://login.example.com';
    const settings = { grant: 'client_credentials', clientId: 'robot', clientSecret: 'x', issuer } as const;
    const error = await failure(client(fake, { settings }).call());
    expect(error.message).toContain(`credentials belong to ${issuer}`);
    expect(fake.at('/token')).toEqual([]);
  });

  it('a token that is still refused after being renewed ends the request', async () => {
    const fake = await start({ paths: new Map([['/mcp', { status: 401 }]]) });
    const settings = { grant: 'client_credentials', clientId: 'robot', clientSecret: 'x' } as const;
    expect((await failure(client(fake, { settings }).call())).data).toMatchObject({ kind: 'auth' });
    expect(fake.at('/mcp').length).toBe(3);
  });
});

describe('signing in', () => {
  it('registers, asks for the resource, proves the code and keeps the tokens in private files', async () => {
    const fake = await start();
    const { authorizer, call, store, key } = client(fake);
    await authorizer?.login({ open: browser });
    expect((await call()).status).toBe(200);
    const [asked] = fake.at('/authorize');
    expect(asked?.query.get('resource')).toBe(fake.mcpUrl);
    expect(asked?.query.get('code_challenge_method')).toBe('S256');
    expect(asked?.query.get('redirect_uri')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect((await store.read(key))?.issuer).toBe(fake.origin);
    expect(statSync(temp('auth')).mode & 0o777).toBe(0o700);
    expect(readdirSync(temp('auth'))).toEqual([`${key}.json`]);
    expect(statSync(temp('auth', `${key}.json`)).mode & 0o777).toBe(0o600);
  });

  it('B151: registers as a public client with token_endpoint_auth_method "none"', async () => {
    const fake = await start();
    await client(fake).authorizer?.login({ open: browser });
    const registration = JSON.parse(fake.at('/register')[0]?.body ?? '{}');
    expect(registration.token_endpoint_auth_method).toBe('none');
    const [exchange] = fake.at('/token');
    expect(exchange?.headers.authorization).toBeUndefined();
    expect(exchange?.form.get('client_id')).toMatch(/^client-/);
    expect(exchange?.form.get('code_verifier')).toBeTruthy();
  });

  it('a second sign-in uses the registered client again, on the same port', async () => {
    const fake = await start();
    const { authorizer } = client(fake);
    await authorizer?.login({ open: browser });
    await authorizer?.login({ open: browser });
    expect(fake.at('/register').length).toBe(1);
    const [first, second] = fake.at('/authorize').map(({ query }) => query.get('redirect_uri'));
    expect(second).toBe(first);
  });

  it('a client registered by hand is used as it is', async () => {
    const fake = await start();
    await client(fake, { settings: { clientId: 'by-hand', scopes: ['a'] } }).authorizer?.login({
      open: browser,
    });
    expect(fake.at('/register')).toEqual([]);
    expect(fake.at('/authorize')[0]?.query.get('client_id')).toBe('by-hand');
    expect(fake.at('/authorize')[0]?.query.get('scope')).toBe('a');
  });

  it('a client metadata document is used where the authorization server takes one', async () => {
    const clientMetadataUrl = 'https://client.example.com/metadata.json';
    const metadata = (usual: object) => ({ ...usual, client_id_metadata_document_supported: true });
    const fake = await start({ metadata });
    await client(fake, { settings: { clientMetadataUrl } }).authorizer?.login({ open: browser });
    expect(fake.at('/register')).toEqual([]);
    expect(fake.at('/authorize')[0]?.query.get('client_id')).toBe(clientMetadataUrl);
  });

  it.each([
    ['another sender', { iss: 'https://evil.example.com', promised: false }],
    ['a sender that differs by a slash', { iss: 'self/', promised: true }],
    ['no sender although one was promised', { iss: undefined, promised: true }],
  ])('a code from %s is not used', async (_, { iss, promised }) => {
    const fake = await start({
      metadata: (usual) => ({ ...usual, authorization_response_iss_parameter_supported: promised }),
      redirect: (location, origin) => {
        if (iss !== undefined) location.searchParams.set('iss', iss.replace('self', origin));
      },
    });
    const error = await failure(client(fake).authorizer?.login({ open: browser }) ?? Promise.resolve());
    expect(error.message).toContain('The code was not used');
    expect(fake.at('/token')).toEqual([]);
  });

  it('metadata that claims another issuer is not used', async () => {
    const fake = await start({ metadata: (usual) => ({ ...usual, issuer: 'https://evil.example.com' }) });
    const error = await failure(client(fake).authorizer?.login({ open: browser }) ?? Promise.resolve());
    expect(error.message).toContain('claims to be https://evil.example.com');
    expect(fake.at('/register')).toEqual([]);
  });

  it('a server that asks for more scopes gets a new sign-in with the old and the new ones', async () => {
    const fake = await start({ challenge: () => 'Bearer scope="read"', needs: ['read', 'write'] });
    expect((await client(fake, { open: browser }).call()).status).toBe(200);
    expect(fake.at('/authorize').map(({ query }) => query.get('scope'))).toEqual(['read', 'read write']);
  });

  it('without a person the call that lacks a scope is denied; the next sign-in, elsewhere, asks for it', async () => {
    const fake = await start({ challenge: () => 'Bearer scope="read"' });
    const { authorizer, call, store, key } = client(fake);
    await authorizer?.login({ open: browser });
    fake.script.needs = ['read', 'write'];
    const error = await failure(call());
    expect(error).toMatchObject({ code: 'DENIED', data: { kind: 'scope', scopes: ['write'] } });
    expect((await store.read(key))?.tokens).toBeDefined();
    await client(fake).authorizer?.login({ open: browser });
    expect(fake.at('/authorize').at(-1)?.query.get('scope')).toBe('read write');
    // The session that was denied finds the new token in the store.
    expect((await call()).status).toBe(200);
  });

  it('scopes that were asked for and refused are not asked for again and again', async () => {
    const fake = await start({ challenge: () => 'Bearer scope="read"', needs: ['read'] });
    const { call } = client(fake, { open: browser });
    fake.script.token = () => ({ status: 200, body: { ...fake.issue(['none']), scope: 'none' } });
    expect((await failure(call())).code).toBe('DENIED');
    expect(fake.at('/authorize').length).toBe(1);
  });
});

describe('the redirect', () => {
  it('only the answer with the right state counts, and after it nobody listens', async () => {
    const listener = await listenForRedirect('right', [0], 60_000);
    const wrong = await fetch(`${listener.redirectUri}?code=stolen&state=wrong`);
    expect(wrong.status).toBe(400);
    await wrong.text();
    await (await fetch(`${listener.redirectUri}?code=good&state=right`)).text();
    expect(await listener.answer).toEqual({ code: 'good' });
    await listener.close();
    await expect(fetch(listener.redirectUri)).rejects.toThrow();
  });

  it('nobody who comes in time ends it', async () => {
    const listener = await listenForRedirect('right', [0], 20);
    await expect(listener.answer).rejects.toThrow('nobody signed in');
    await expect(fetch(listener.redirectUri)).rejects.toThrow();
  });
});

describe('B145: one refresh token, many users', () => {
  it('20 parallel calls refresh once, and take the lock once', async () => {
    let locks = 0;
    class CountingStore extends FileTokenStore {
      override exclusively<T>(key: string, work: () => Promise<T>): Promise<T> {
        locks += 1;
        return super.exclusively(key, work);
      }
    }
    const fake = await start({ tokenDelayMs: 50 });
    const { call, store, key } = client(fake, { store: new CountingStore(temp('auth')) });
    await signedInBefore(fake, store, key);
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await call()).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect([fake.refreshes().length, locks]).toEqual([1, 1]);
  });

  it('five processes refresh once, and all succeed', async () => {
    const fake = await start({ tokenDelayMs: 200 });
    const { store, key } = client(fake);
    await signedInBefore(fake, store, key);
    const script = fileURLToPath(new URL('../fixtures/auth/refresher.mjs', import.meta.url));
    const children: ChildProcess[] = Array.from({ length: 5 }, () =>
      spawn(process.execPath, [script, fake.mcpUrl, temp('auth')], { stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    const lines = children.map((child) => {
      if (child.stdout === null) throw new Error('no stdout');
      return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    });
    await Promise.all(lines.map((line) => line.next()));
    const exits = children.map((child) => once(child, 'exit'));
    for (const child of children) child.stdin?.end('go\n');
    const answers = await Promise.all(lines.map(async (line) => (await line.next()).value));
    await Promise.all(exits);
    expect(answers).toEqual(Array(5).fill('status 200'));
    expect(fake.refreshes().length).toBe(1);
  });

  it('a token that expires soon is refreshed before it is refused, a short-lived one not at once', async () => {
    const fake = await start({ expiresIn: 20 });
    let now = 1_000_000;
    const { authorizer, call } = client(fake, { now: () => now });
    await authorizer?.login({ open: browser });
    expect((await call()).status).toBe(200);
    expect(fake.refreshes().length).toBe(0);
    now += 19_000;
    expect((await call()).status).toBe(200);
    expect(fake.refreshes().length).toBe(1);
    expect(fake.at('/mcp').map(({ method }) => method)).toEqual(['GET', 'POST', 'POST']);
  });

  it('a client that is no longer accepted is registered anew by the next sign-in', async () => {
    const fake = await start();
    const { authorizer, call, store, key } = client(fake);
    await authorizer?.login({ open: browser });
    fake.revoke((await store.read(key))?.tokens?.accessToken ?? '');
    fake.script.token = () => ({ status: 401, body: { error: 'invalid_client' } });
    expect((await failure(call())).message).toContain('does not accept the client');
    fake.script = {};
    await authorizer?.login({ open: browser });
    expect(fake.at('/register').length).toBe(2);
  });

  it('only the refused refresh token is forgotten, not the one stored meanwhile', async () => {
    const store = new FileTokenStore(temp('auth'));
    const record = { issuer: 'https://as', client: { clientId: 'c' }, scopes: [] };
    await store.write('key', { ...record, tokens: { accessToken: 'a2', refreshToken: 'r2' } });
    expect((await forgetTokens(store, 'key', 'r1'))?.tokens?.refreshToken).toBe('r2');
    expect((await store.read('key'))?.tokens?.refreshToken).toBe('r2');
    await forgetTokens(store, 'key', 'r2');
    expect((await store.read('key'))?.tokens).toBeUndefined();
  });

  it('a winner without our lock is believed after invalid_grant', async () => {
    const fake = await start();
    const { call, store, key } = client(fake);
    const record = await signedInBefore(fake, store, key);
    const fresh = fake.issue();
    fake.script.token = () => {
      const tokens = { accessToken: fresh.access_token, refreshToken: fresh.refresh_token };
      writeFileSync(temp('auth', `${key}.json`), JSON.stringify({ ...record, tokens }));
      return { status: 400, body: { error: 'invalid_grant' } };
    };
    expect((await call()).status).toBe(200);
    expect((await store.read(key))?.tokens?.refreshToken).toBe(fresh.refresh_token);
  });
});

describe('B146: a refresh that fails', () => {
  it.each([
    ['a lost connection', () => 'reset' as const],
    ['503', () => ({ status: 503, body: 'busy' })],
    ['503 with an OAuth error', () => ({ status: 503, body: { error: 'invalid_grant' } })],
    ['a page with 200', () => ({ status: 200, body: '<html>sign in</html>' })],
    ['429', () => ({ status: 429, body: { error: 'slow_down' } })],
  ])('%s keeps the credentials, and a later try succeeds', async (_, token) => {
    const fake = await start({ token });
    const { call, store, key } = client(fake);
    const before = await signedInBefore(fake, store, key);
    const error = await failure(call());
    expect(error).toMatchObject({
      code: 'START_FAILED',
      retryable: true,
      data: { kind: 'auth-unavailable' },
    });
    expect(await store.read(key)).toEqual(before);
    fake.script = {};
    expect((await call()).status).toBe(200);
  });

  it('an authorization server that is not there keeps the credentials', async () => {
    const away = await FakeAuthorization.start();
    await away.stop();
    const fake = await start({ metadata: (usual) => ({ ...usual, token_endpoint: `${away.origin}/token` }) });
    const { call, store, key } = client(fake);
    const before = await signedInBefore(fake, store, key);
    const error = await failure(call());
    expect(error.data).toMatchObject({ kind: 'auth-unavailable' });
    expect(error.message).toContain(`${away.origin} does not answer (connect ECONNREFUSED`);
    expect(await store.read(key)).toEqual(before);
  });

  it('invalid_grant for the stored token forgets the tokens but not the client, and asks for a sign-in', async () => {
    const fake = await start({ token: () => ({ status: 400, body: { error: 'invalid_grant' } }) });
    const { call, store, key } = client(fake);
    await signedInBefore(fake, store, key);
    const error = await failure(call());
    expect(error).toMatchObject({ retryable: false, data: { kind: 'auth' } });
    expect(error.message).toContain('the refresh token is no longer valid');
    expect(await store.read(key)).toEqual({
      issuer: fake.origin,
      client: { clientId: 'earlier' },
      scopes: [],
    });
  });

  it('a refresh token is not sent to another authorization server than the one it came from', async () => {
    const other = await start();
    const fake = await start();
    const { call, store, key } = client(fake);
    await signedInBefore(fake, store, key);
    const metadata = { resource: fake.mcpUrl, authorization_servers: [other.origin] };
    fake.script.paths = new Map([
      ['/.well-known/oauth-protected-resource/mcp', { status: 200, body: metadata }],
    ]);
    expect((await failure(call())).message).toContain(other.origin);
    expect(other.at('/token')).toEqual([]);
  });
});

describe('B147: metadata that is not where it is looked for first', () => {
  const first = '/.well-known/oauth-protected-resource/mcp';
  it.each([
    ['401', { status: 401 }],
    ['403', { status: 403 }],
    ['406', { status: 406 }],
    ['a page with 200', { status: 200, body: '<html></html>' }],
    ['JSON of another kind', { status: 200, body: { hello: true } }],
  ])('%s at the path-aware URL leads on to the root', async (_, answer) => {
    const fake = await start();
    const root = { status: 200, body: fake.resourceMetadata() };
    fake.script.paths = new Map<string, { status: number; body?: unknown }>([
      [first, answer],
      ['/.well-known/oauth-protected-resource', root],
    ]);
    await client(fake).authorizer?.login({ open: browser });
    expect(fake.at('/authorize')[0]?.query.get('resource')).toBe(fake.mcpUrl);
  });

  it.each([401, 403, 406, 200])('OAuth metadata that answers %i leads on to OpenID', async (status) => {
    const fake = await start();
    const body = { ...fake.metadata(), jwks_uri: `${fake.origin}/jwks` };
    const openid = {
      ...body,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    };
    fake.script.paths = new Map<string, { status: number; body?: unknown }>([
      ['/.well-known/oauth-authorization-server', { status, body: '<html></html>' }],
      ['/.well-known/openid-configuration', { status: 200, body: openid }],
    ]);
    await client(fake).authorizer?.login({ open: browser });
    expect(fake.at('/.well-known/openid-configuration').length).toBe(1);
    expect(fake.at('/register').length).toBe(1);
  });

  it('a server without any metadata is taken to be its own authorization server', async () => {
    const fake = await start({ challenge: () => null });
    const none = { status: 404 };
    fake.script.paths = new Map([
      [first, none],
      ['/.well-known/oauth-authorization-server', none],
    ]);
    await client(fake).authorizer?.login({ open: browser });
    expect(fake.at('/authorize').length).toBe(1);
    expect(fake.at('/authorize')[0]?.query.has('resource')).toBe(false);
  });

  it('metadata that cannot be read now makes no other server the trusted one', async () => {
    const fake = await start({ paths: new Map([[first, { status: 502 }]]) });
    const error = await failure(client(fake).authorizer?.login({ open: browser }) ?? Promise.resolve());
    expect(error.data).toMatchObject({ kind: 'auth-unavailable' });
    expect(fake.at('/register')).toEqual([]);
  });

  it('an endpoint that is not https gets no credentials', async () => {
    const fake = await start({
      metadata: (usual) => ({ ...usual, token_endpoint: 'ftp://127.0.0.1/token' }),
    });
    const error = await failure(client(fake).authorizer?.login({ open: browser }) ?? Promise.resolve());
    expect(error.message).toContain('token endpoint is not https');
  });
});

describe('B149: the resource of the metadata', () => {
  it.each([
    ['the origin', (origin: string) => origin],
    ['the origin with a slash', (origin: string) => `${origin}/`],
    ['the URL', (origin: string) => `${origin}/mcp`],
    ['the URL with a slash', (origin: string) => `${origin}/mcp/`],
  ])('%s is accepted and sent as it was advertised', async (_, resource) => {
    const fake = await start({ resource });
    await client(fake).authorizer?.login({ open: browser });
    const sent = [
      fake.at('/authorize')[0]?.query.get('resource'),
      fake.at('/token')[0]?.form.get('resource'),
    ];
    expect(sent).toEqual([resource(fake.origin), resource(fake.origin)]);
  });

  it.each(['https://other.example.com/mcp', 'self/mcp2', 'self/mcp/deeper'])(
    '%s is refused by name',
    async (text) => {
      const fake = await start({ resource: (origin) => text.replace('self', origin) });
      const error = await failure(client(fake).authorizer?.login({ open: browser }) ?? Promise.resolve());
      expect(error.data).toMatchObject({ kind: 'auth' });
      expect(error.message).toContain(`its metadata is for ${text.replace('self', fake.origin)}`);
      expect(fake.at('/register')).toEqual([]);
    },
  );

  it('a path that merely starts with the same letters is another resource', () => {
    expect(resourceCovers('https://h/api', 'https://h/api123')).toBe(false);
    expect(resourceCovers('https://H:443/api/', 'https://h/api')).toBe(true);
  });
});

describe('B150: a configured Authorization header', () => {
  it.each([401, 403])(
    '%i is reported with the header name and the body, and OAuth stays out',
    async (status) => {
      const secret = 'token-4711';
      const body = { message: `token ${secret} has expired` };
      const fake = await start({ paths: new Map([['/mcp', { status, body }]]) });
      const { call, authorizer } = client(fake, { headers: [['authorization', `Bearer ${secret}`]] });
      const error = await failure(call());
      expect(authorizer).toBeUndefined();
      expect(error).toMatchObject({ data: { kind: 'auth', status, header: 'authorization' } });
      expect(error.message).toMatch(
        new RegExp(`answered ${status} to the configured header "authorization".*expired`),
      );
      expect(JSON.stringify([error.message, error.data])).not.toContain(secret);
      expect(fake.seen.map(({ path }) => path)).toEqual(['/mcp']);
    },
  );
});

describe('the store', () => {
  const record: AuthRecord = { issuer: 'https://as', client: { clientId: 'c' }, scopes: ['a'] };

  it('a directory that was open to others is closed', async () => {
    mkdirSync(temp('auth'));
    chmodSync(temp('auth'), 0o755);
    await new FileTokenStore(temp('auth')).write('key', record);
    expect(statSync(temp('auth')).mode & 0o777).toBe(0o700);
  });

  it('a damaged file counts as no sign-in', async () => {
    mkdirSync(temp('auth'));
    writeFileSync(temp('auth', 'key.json'), '{"issuer": "https://as", "cli');
    expect(await new FileTokenStore(temp('auth')).read('key')).toBeUndefined();
  });

  it('logout forgets tokens and client', async () => {
    const fake = await start();
    const { authorizer, call } = client(fake);
    await authorizer?.login({ open: browser });
    await authorizer?.logout();
    expect(readdirSync(temp('auth'))).toEqual([]);
    expect((await failure(call())).data).toMatchObject({ kind: 'auth' });
  });

  it('two clients of one server have records of their own', () => {
    const keys = [{}, { clientId: 'a' }, { scopes: ['x'] }].map((settings) =>
      storeKey('https://h/mcp', settings),
    );
    expect(new Set(keys).size).toBe(3);
    expect(storeKey('https://H/mcp', {})).toBe(keys[0]);
  });

  it('a keyring is used when it works, and left alone when it is missing or broken', async () => {
    const kept = new Map<string, string>();
    class Entry {
      readonly #name: string;
      constructor(service: string, account: string) {
        this.#name = `${service} ${account}`;
      }
      getPassword = () => kept.get(this.#name) ?? null;
      setPassword = (password: string) => void kept.set(this.#name, password);
      deletePassword = () => kept.delete(this.#name);
    }
    const store = await openKeyringStore(temp('auth'), async () => ({ Entry }));
    await store?.exclusively('key', async () => store.write('key', record));
    expect(await store?.read('key')).toEqual(record);
    await store?.delete('key');
    expect(kept.size).toBe(0);
    const missing = () => Promise.reject(new Error('Cannot find package'));
    expect(await openKeyringStore(temp('auth'), missing)).toBeUndefined();
    const broken = async () => ({
      Entry: class {
        setPassword(): void {
          throw new Error('no secret service');
        }
      },
    });
    expect(await openKeyringStore(temp('auth'), broken)).toBeUndefined();
  });
});

describe('challenges and scopes', () => {
  it('a Bearer challenge is read among others, quoted or not', () => {
    const header =
      'Basic realm="a, Bearer b", Bearer error=insufficient_scope, scope="a  b", resource_metadata="https://h/x"';
    expect(bearerChallenge(header)).toEqual({
      error: 'insufficient_scope',
      scopes: ['a', 'b'],
      resourceMetadata: 'https://h/x',
    });
    expect(bearerChallenge('Basic realm="x"')).toBeUndefined();
    expect(bearerChallenge('Bearer')).toEqual({ scopes: [] });
    expect(bearerChallenge(null)).toBeUndefined();
  });

  it('what is needed is asked for, else what the resource has, else nothing', () => {
    const none = {
      configured: [],
      challenged: [],
      earlier: [],
      resource: [],
      authorizationServer: ['offline_access'],
      refreshable: true,
    };
    expect(scopesToAsk(none)).toEqual([]);
    expect(scopesToAsk({ ...none, resource: ['r'] })).toEqual(['r', 'offline_access']);
    expect(
      scopesToAsk({ ...none, resource: ['r'], challenged: ['c'], earlier: ['e'], refreshable: false }),
    ).toEqual(['e', 'c']);
  });
});
