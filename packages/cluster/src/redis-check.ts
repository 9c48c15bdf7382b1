/** Whether a Redis server can hold batches: what would stop or lose them is found before the first line is submitted. */
import { BulkheadError } from '@bulkhead/workers';
import { Redis } from 'ioredis';
import { redisError } from './redis-errors.js';

/** Streams are read from behind an id (6.2). */
const OLDEST = [6, 2] as const;
const PROBE_KEY = 'bulkhead:{fleet}:probe';

/**
 * Connects once, without trying again, so that the first failure is told as what it is.
 * @returns warnings.
 */
export async function probeRedis(url: string, place: string, connectMs: number): Promise<string[]> {
  const { username, password, pathname } = new URL(url);
  // Left to the client, a refused password or database is not told as what it is.
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  bare.pathname = '';
  const client = new Redis(bare.href, {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: connectMs,
    // What listens there may be no Redis at all, and never answer.
    commandTimeout: connectMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let failure: Error | undefined;
  client.on('error', (error: Error) => {
    failure ??= error;
  });
  try {
    await client.connect();
    const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
    if (secret !== '') await (user === '' ? client.auth(secret) : client.auth(user, secret));
    if (pathname.length > 1) await client.select(pathname.slice(1));
    return await checkRedis(client, place);
  } catch (error) {
    // Of a connection that ended, the command says less than the connection itself.
    throw redisError(failure ?? error, place);
  } finally {
    client.disconnect();
  }
}

/**
 * @returns warnings about what may be lost.
 * @throws {BulkheadError} `BAD_CONFIG`, `CONNECTION_LOST`.
 */
export async function checkRedis(client: Redis, place: string): Promise<string[]> {
  try {
    const info = parseInfo(await client.info());
    requireVersion(info, place);
    if (info.get('cluster_enabled') === '1') throw new Error('MOVED');
    requireNoEviction(info, place);
    await client.set(PROBE_KEY, '1', 'PX', 1);
    return await durabilityWarnings(client, info, place);
  } catch (error) {
    throw redisError(error, place);
  }
}

function requireVersion(info: ReadonlyMap<string, string>, place: string): void {
  const version = info.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw new BulkheadError(
    'BAD_CONFIG',
    `Redis at ${place} is version ${version || 'unknown'}; batches need ${OLDEST.join('.')} or later, or Valkey`,
  );
}

function requireNoEviction(info: ReadonlyMap<string, string>, place: string): void {
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return;
  throw new BulkheadError(
    'BAD_CONFIG',
    `Redis at ${place} drops keys when its memory is full (maxmemory-policy ${policy}), and batches with them. ` +
      'Run `redis-cli CONFIG SET maxmemory-policy noeviction` and set it in redis.conf, or use a server of its own',
  );
}

async function durabilityWarnings(
  client: Redis,
  info: ReadonlyMap<string, string>,
  place: string,
): Promise<string[]> {
  if (info.get('aof_enabled') !== '1') {
    return [
      `Redis at ${place} keeps no append-only file: what it took since its last snapshot is lost if it stops. ` +
        'Run `redis-cli CONFIG SET appendonly yes` and set it in redis.conf',
    ];
  }
  // Forbidden by most who host Redis for others, and renamed by some.
  const setting = await client.config('GET', 'appendfsync').catch(() => undefined);
  if (setting === undefined) {
    return [`Redis at ${place} does not tell how often it writes to its disk (CONFIG is forbidden)`];
  }
  const [, how] = setting as string[];
  if (how === 'always') return [];
  const span = how === 'everysec' ? 'up to the last two seconds' : 'what the system had not written';
  return [
    `If the machine of Redis at ${place} crashes, ${span} may be lost (appendfsync ${how}): calls noted as sent or ` +
      'answered then may be repeated. `redis-cli CONFIG SET appendfsync always` avoids it and is slower',
  ];
}

function parseInfo(text: string): Map<string, string> {
  const facts = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith('#')) facts.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return facts;
}
