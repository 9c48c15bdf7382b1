/** What Redis itself can do to a batch: be missing, closed, too small, forgetful, or go away in mid-work. */
import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import type { LineResult } from '../../packages/cluster/src/ledger.js';
import { planOf } from '../../packages/cluster/src/plan.js';
import { openStore, type Store } from '../../packages/cluster/src/store.js';
import { type RedisServer, type RedisServerOptions, redisMissing, startRedis } from '../support/redis.js';
import { useTempDir } from '../support/temp-dir.js';

const missing = redisMissing();
if (missing !== undefined) console.warn(`Skipped: ${missing}`);

const temp = useTempDir();
const servers: RedisServer[] = [];
const stores: Store[] = [];

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const server of servers.splice(0)) await server.stop();
});

async function start(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedis(options);
  servers.push(server);
  return server;
}

async function open(url: string, patienceMs?: number): Promise<Store> {
  const store = await openStore({ redis: url }, patienceMs === undefined ? {} : { patienceMs });
  stores.push(store);
  return store;
}

/** Runs a command as the operator of the server would. */
async function tell(server: RedisServer, ...command: [string, ...string[]]): Promise<unknown> {
  const [name, ...args] = command;
  const client = new Redis(server.url);
  try {
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}

const withLogin = (server: RedisServer, login: string): string => server.url.replace('//', `//${login}@`);
const ok = (line: number, text = `{"line":${line}}`): LineResult => ({ line, outcome: 'ok', text });

async function newBatch({ ledger }: Store): Promise<string> {
  const id = `b-${randomUUID().slice(0, 8)}`;
  await ledger.create({ id, name: 'test', createdAt: Date.now(), plan: planOf(), input: undefined });
  return id;
}

describe.skipIf(missing !== undefined)('a Redis that cannot hold batches', () => {
  test('is named with its port when nothing listens there, without the password of the URL', async () => {
    const server = await start();
    await server.kill();
    const opening = open(withLogin(server, 'ann:open-sesame'));
    await expect(opening).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    await expect(opening).rejects.toThrow(
      `Redis at redis://127.0.0.1:${server.port} cannot be reached: ECONNREFUSED; is it running`,
    );
    await expect(opening).rejects.not.toThrow(/sesame/);
  });

  test('is refused for a URL that is none', async () => {
    await expect(open('localhost:6379')).rejects.toThrow('Expected a URL redis://host:port');
    await expect(open('redis://127.0.0.1/seven')).rejects.toThrow('got "redis://127.0.0.1/seven"');
    await expect(open('amqp://ann:open-sesame@host')).rejects.not.toThrow(/sesame/);
  });

  test('wants the right password, and takes it percent-encoded', async () => {
    const server = await start({ args: ['--requirepass', 'a@b:c'] });
    await expect(open(server.url)).rejects.toThrow('wants a password: write it into the URL');
    await expect(open(withLogin(server, ':wrong'))).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('refuses the user or the password'),
    });
    const store = await open(withLogin(server, ':a%40b%3Ac'));
    expect(store.place).toBe(server.url);
    expect(await newBatch(store)).toBeTypeOf('string');
  });

  test('has a password in its URL and none in the server', async () => {
    const server = await start();
    await expect(open(withLogin(server, ':guess'))).rejects.toThrow('has no password for its default user');
  });

  test('does not allow its user to write', async () => {
    const server = await start();
    await tell(server, 'ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@read', '+info', '+select');
    await expect(open(withLogin(server, 'reader:secret'))).rejects.toThrow('does not allow this user');
  });

  test('lets a user work who has the rights that the message names', async () => {
    const server = await start();
    const rights = ['~bulkhead:*', '+@all', '-@admin', '-@dangerous', '+info'];
    await tell(server, 'ACL', 'SETUSER', 'batches', 'on', '>secret', ...rights);
    const store = await open(withLogin(server, 'batches:secret'));
    const id = await newBatch(store);
    await store.queue('bulkhead-a').addBulk([{ name: 'chunk', data: { batch: id, lines: [[1, '{}']] } }]);
    expect(store.warnings).toEqual([expect.stringContaining('CONFIG is forbidden')]);
  });

  test('is a read-only replica', async () => {
    const primary = await start();
    const replica = await start({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    await expect(open(replica.url)).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('is a read-only replica: give the URL of its primary'),
    });
  });

  test('is full', async () => {
    const server = await start();
    await tell(server, 'CONFIG', 'SET', 'maxmemory', '1');
    await expect(open(server.url)).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('is full (`maxmemory` is reached)'),
    });
  });

  test('drops keys when it is full', async () => {
    const server = await start({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    await expect(open(server.url)).rejects.toThrow('redis-cli CONFIG SET maxmemory-policy noeviction');
  });

  test('is a node of a Redis Cluster', async () => {
    const server = await start({ args: ['--cluster-enabled', 'yes'] });
    await expect(open(server.url)).rejects.toThrow('is a node of a Redis Cluster');
  });

  test('has no such database', async () => {
    const server = await start();
    await expect(open(`${server.url}/99`)).rejects.toThrow('has no database of that number');
    expect(await newBatch(await open(`${server.url}/3`))).toBeTypeOf('string');
  });

  test('is too old', async () => {
    const info = 'redis_version:5.0.14\r\n';
    const old = createServer((socket) => {
      socket
        .on('error', () => {})
        .on('data', (bytes) => {
          const commands = bytes.toString().match(/\*\d+\r\n/g) ?? [];
          for (const _ of commands) socket.write(`$${info.length}\r\n${info}\r\n`);
        });
    }).listen(0, '127.0.0.1');
    await once(old, 'listening');
    const address = old.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await expect(open(`redis://127.0.0.1:${port}`)).rejects.toThrow('is version 5.0.14; batches need 6.2');
    old.close();
  });

  test('tells what a crash of its machine may cost', async () => {
    const server = await start();
    expect((await open(server.url)).warnings).toEqual([expect.stringContaining('appendfsync everysec')]);
    await tell(server, 'CONFIG', 'SET', 'appendfsync', 'always');
    expect((await open(server.url)).warnings).toEqual([]);
    await tell(server, 'CONFIG', 'SET', 'appendonly', 'no');
    expect((await open(server.url)).warnings).toEqual([expect.stringContaining('keeps no append-only file')]);
  });
});

describe.skipIf(missing !== undefined)('Redis over TLS', () => {
  const certificate = (): { key: string; cert: string; ca: string } => {
    const [key, cert] = [temp('key.pem'), temp('cert.pem')];
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert],
        ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ],
      { stdio: 'ignore' },
    );
    return { key, cert, ca: cert };
  };

  test('is used once its certificate is trusted, and refused before', async () => {
    const tls = certificate();
    const server = await start({ tls });
    await expect(open(server.url)).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/TLS connection .* failed: self-signed .*NODE_EXTRA_CA_CERTS/),
    });
    // Which authorities are trusted is read once, when a process starts.
    const script = `
      import { openCluster } from '@bulkhead/cluster';
      const cluster = await openCluster({ redis: process.env.TEST_REDIS });
      console.log(JSON.stringify(await cluster.batches()));
      await cluster.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, TEST_REDIS: server.url, NODE_EXTRA_CA_CERTS: tls.cert },
    });
    expect(stdout.trim()).toBe('[]');
  });

  test('is proposed when a plain connection is closed by a TLS port', async () => {
    const server = await start({ tls: certificate() });
    await expect(open(server.url.replace('rediss:', 'redis:'))).rejects.toThrow(
      'If it speaks TLS, the URL begins with rediss://',
    );
  });
});

describe.skipIf(missing !== undefined)('a Redis that goes away in mid-work', () => {
  test('loses nothing that was answered, and gets what was asked of it meanwhile', async () => {
    const server = await start();
    const store = await open(server.url);
    const { ledger } = store;
    const id = await newBatch(store);
    await ledger.claim(id, 'c', 'me', [1, 2, 3]);
    await ledger.markSent(id, 'c', 'me', [1, 2]);
    await ledger.putResults(id, 'c', 'me', [ok(1)]);
    await server.kill();
    const late = ledger.putResults(id, 'c', 'me', [ok(2)]);
    await server.start();
    expect(await late).toMatchObject({ standing: 'owner' });
    expect(await ledger.claim(id, 'c', 'another', [1, 2, 3])).toMatchObject({
      answered: new Set([1, 2]),
      sent: new Set(),
    });
    expect((await ledger.results(id, undefined, 1_000_000)).lines).toEqual(['{"line":1}', '{"line":2}']);
  });

  test('is waited for as long as the patience lasts, then named', async () => {
    const server = await start();
    const { ledger } = await open(server.url, 1_500);
    await server.kill();
    await expect(ledger.batches()).rejects.toMatchObject({
      code: 'CONNECTION_LOST',
      message: expect.stringContaining(`Redis at ${server.url} cannot be reached`),
    });
    // Known to be away: nobody waits again.
    const before = performance.now();
    await expect(ledger.workers()).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    expect(performance.now() - before).toBeLessThan(1_000);
    await server.start();
    await expect.poll(() => ledger.batches().catch(() => undefined), { timeout: 10_000 }).toEqual([]);
  });

  test('is waited for without limit by a worker', async () => {
    const server = await start();
    const impatient = await open(server.url, 100);
    const store = impatient.patient();
    stores.push(store);
    await store.ledger.batches();
    await server.kill();
    const waiting = store.ledger.batches();
    await expect(impatient.ledger.batches()).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    await server.start();
    expect(await waiting).toEqual([]);
  });

  test('does not keep a store from being closed, nor a worker that could not be closed', async () => {
    const server = await start();
    const store = await open(server.url);
    const worker = store.worker('bulkhead-a', async () => {});
    await worker.waitUntilReady();
    await server.kill();
    const closing = worker.close();
    const asked = store.ledger.batches();
    asked.catch(() => {});
    await store.close();
    await closing;
    await expect(asked).rejects.toMatchObject({ code: 'CLOSED' });
  });

  test('says that it is full when it fills up, and takes results again once there is room', async () => {
    const server = await start();
    const store = await open(server.url);
    const id = await newBatch(store);
    await tell(server, 'CONFIG', 'SET', 'maxmemory', '1');
    const write = () => store.ledger.putResults(id, 'c', 'me', [ok(7, `"${'x'.repeat(300_000)}"`)]);
    await expect(write()).rejects.toMatchObject({ code: 'BAD_CONFIG' });
    await tell(server, 'CONFIG', 'SET', 'maxmemory', '0');
    await write();
    expect(await store.ledger.batch(id)).toMatchObject({ answered: 1, outcomes: { ok: 1 } });
  });
});

describe.skipIf(missing !== undefined)('a command that reaches Redis twice', () => {
  // A client sends again what was not answered when its connection broke; the server may have done it.
  test('keeps the long line that the first one wrote', async () => {
    const server = await start();
    const store = await open(server.url);
    const id = await newBatch(store);
    const text = `{"line":1,"long":"${'é'.repeat(700_000)}"}`;
    const client = new Redis(server.url);
    await store.ledger.putResults(id, 'c', 'me', [ok(1, text)]);
    const [entry] = (await store.ledger.results(id, undefined, 1)).lines;
    if (typeof entry !== 'object') throw new Error('the line is not kept apart');
    const script = await import('../../packages/cluster/src/redis-scripts.js');
    const tag = `bulkhead:{${id}}:`;
    const keys = ['batch', 'owners', 'answered', 'results', 'blobs', `blob:${entry.blob}`].map(
      (k) => tag + k,
    );
    await client.eval(
      script.LUA.bulkheadPutResults,
      keys.length,
      ...keys,
      ...['c', 'me', 1, 'ok', entry.bytes, entry.blob],
    );
    client.disconnect();
    const pieces: Buffer[] = [];
    for await (const piece of store.ledger.blob(id, entry.blob)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe(text);
    expect(await store.ledger.batch(id)).toMatchObject({ answered: 1 });
  });
});
