/** Which store the commands about submitted batches mean: what the command line says, else the environment. Pure. */
import { type CommonOptions, usageError } from '../context.js';

export interface StoreOptions extends CommonOptions {
  redis?: string;
  postgres?: string;
}

export type Location = { redis: string } | { postgres: string };

/** @throws {BulkheadError} `BAD_INPUT` when none or two are named. URLs are not repeated: they may hold a password. */
export function storeLocation({ redis, postgres }: StoreOptions, env: NodeJS.ProcessEnv): Location {
  if (redis !== undefined && postgres !== undefined) {
    throw usageError('--redis and --postgres exclude each other: a batch lives in one store');
  }
  if (redis !== undefined) return { redis: given('--redis', redis) };
  if (postgres !== undefined) return { postgres: given('--postgres', postgres) };
  const [fromRedis, fromPostgres] = [env.BULKHEAD_REDIS ?? '', env.BULKHEAD_POSTGRES ?? ''];
  if (fromRedis !== '' && fromPostgres !== '') {
    throw usageError('BULKHEAD_REDIS and BULKHEAD_POSTGRES are both set: choose with --redis or --postgres');
  }
  if (fromRedis !== '') return { redis: fromRedis };
  if (fromPostgres !== '') return { postgres: fromPostgres };
  if (env.REDIS_URL !== undefined && env.REDIS_URL !== '') return { redis: env.REDIS_URL };
  throw usageError(
    'which store? Name it with --redis URL (or BULKHEAD_REDIS), or --postgres URL. For a first try on this machine: ' +
      '"redis-server --appendonly yes" in one terminal, --redis redis://localhost:6379 here',
  );
}

function given(option: string, url: string): string {
  if (url === '') throw usageError(`${option}: expected a URL, got nothing; is a variable unset?`);
  return url;
}
