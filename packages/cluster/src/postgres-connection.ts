/**
 * The connections to PostgreSQL of one ledger: the URL and its `schema`, tables made on first use, another try after a
 * connection is lost, and errors that say what to do, without the password.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { BulkheadError } from '@bulkhead/workers';
import pg from 'pg';
import { clusterDefaults } from './defaults.js';
import { createTables, DEFAULT_SCHEMA, schemaName } from './postgres-schema.js';

const PAUSE_MS = 250;
const CONNECTIONS = 4;

/** SQLSTATEs after which the same step can be tried again: nothing was done, or doing it twice does no harm. */
const AGAIN = new Set([
  ...['57P01', '57P02', '57P03'], // the server ends or starts
  ...['53300'], // too many connections
  ...['25006'], // the old primary after a fail-over, until its connections end
  ...['40001', '40P01', '23503'], // met a removal of the batch on the way
]);

export interface PostgresAddress {
  /** Without the `schema` parameter. */
  url: string;
  schema: string;
  /** For messages: without user and password. */
  place: string;
}

/**
 * Takes a `postgres://` URL apart. A parameter `schema` names the schema, default `bulkhead_cluster`.
 * @throws {BulkheadError} `BAD_CONFIG`.
 */
export function postgresAddress(text: string): PostgresAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol))
    throw new BulkheadError(
      'BAD_CONFIG',
      'The PostgreSQL URL must look like postgres://user:password@host:5432/database.',
    );
  const schema = schemaName(url.searchParams.get('schema') ?? DEFAULT_SCHEMA);
  url.searchParams.delete('schema');
  return { url: url.href, schema, place: `${url.protocol}//${url.host}${url.pathname}` };
}

export class PostgresConnection {
  readonly address: PostgresAddress;
  readonly #patienceMs: number;
  readonly #pool: pg.Pool;
  readonly #closed = new AbortController();
  #ready: Promise<void> | undefined;

  /** @param patienceMs How long a step waits for a server that is away, for instance because it restarts. */
  constructor(address: PostgresAddress, patienceMs: number) {
    this.address = address;
    this.#patienceMs = patienceMs;
    this.#pool = new pg.Pool({
      connectionString: address.url,
      application_name: 'bulkhead',
      max: CONNECTIONS,
      connectionTimeoutMillis: clusterDefaults.connectMs,
      keepAlive: true,
    });
    // An idle connection that breaks is replaced by the next query; that one tells if it cannot.
    this.#pool.on('error', () => {});
  }

  /**
   * Runs one statement, in which `:schema` stands for the schema, and waits for a server that is away.
   * @throws {BulkheadError} see {@link postgresError}.
   */
  rows<R extends pg.QueryResultRow>(
    sql: string,
    values: unknown[] = [],
    patienceMs = this.#patienceMs,
  ): Promise<R[]> {
    const text = sql.replaceAll(':schema', `"${this.address.schema}"`);
    return this.patiently(async () => {
      await this.#prepared();
      return (await this.#pool.query<R>(text, values)).rows;
    }, patienceMs);
  }

  /** Repeats what failed because the server was away. */
  async patiently<T>(work: () => Promise<T>, patienceMs = this.#patienceMs): Promise<T> {
    const end = performance.now() + patienceMs;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (this.#closed.signal.aborted || !canRepeat(error) || performance.now() >= end)
          throw postgresError(error, this.address);
      }
      await wait(PAUSE_MS, undefined, { signal: this.#closed.signal }).catch(() => {});
    }
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    await this.#pool.end();
  }

  #prepared(): Promise<void> {
    this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #prepare(): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await checkServer(client, this.address);
      await createTables(client, this.address.schema);
    } finally {
      client.release();
    }
  }
}

const MIN_VERSION = 13;

async function checkServer(client: pg.ClientBase, { place }: PostgresAddress): Promise<void> {
  const found = await client.query<{
    version: number;
    standby: boolean;
    readonly: boolean;
    encoding: string;
  }>(`
    SELECT current_setting('server_version_num')::int / 10000 AS version, pg_is_in_recovery() AS standby,
      current_setting('transaction_read_only') = 'on' AS readonly,
      current_setting('server_encoding') AS encoding`);
  const server = found.rows[0];
  if (!server) return;
  const bad = (what: string) => new BulkheadError('BAD_CONFIG', `PostgreSQL at ${place} ${what}`);
  if (server.version < MIN_VERSION)
    throw bad(`is version ${server.version}; ${MIN_VERSION} or newer is needed.`);
  if (server.standby) throw bad('is a standby, which is read-only. Use the URL of the primary.');
  if (server.readonly)
    throw bad(
      'is read-only. Switch off default_transaction_read_only for this user and database, or use another URL.',
    );
  if (server.encoding !== 'UTF8')
    throw bad(`has a database with encoding ${server.encoding}. Create one with ENCODING 'UTF8'.`);
}

/** An error of the driver, said for a person; one of Bulkhead's own stays as it is. */
export function postgresError(error: unknown, { place, schema }: PostgresAddress): BulkheadError {
  if (error instanceof BulkheadError) return error;
  const said = reason(error);
  const init = { cause: error };
  const bad = (what: string) => new BulkheadError('BAD_CONFIG', `PostgreSQL at ${place} ${what}`, init);
  const code = stateOf(error) ?? '';
  if (code.startsWith('28') || isPassword(error))
    return bad(`refuses the user: ${said}. Check user and password in the URL.`);
  if (code === '3D000') return bad(`has no such database: ${said}. Create it or correct the URL.`);
  if (code === '42501')
    return bad(
      `does not give enough rights: ${said}. Grant the user CREATE on the database, or USAGE on schema "${schema}" and all rights on what is in it.`,
    );
  if (code === '25006') return bad(`is read-only: ${said}. Use the URL of the primary.`);
  if (code.startsWith('53') && code !== '53300')
    return bad(`is out of room: ${said}. Free disk or memory there; what is saved stays saved.`);
  if (isConnection(error))
    return new BulkheadError(
      'CONNECTION_LOST',
      `PostgreSQL at ${place} cannot be reached: ${said}. Is it running, and are host, port and TLS (sslmode=verify-full) right?`,
      init,
    );
  return new BulkheadError('INTERNAL', `PostgreSQL at ${place} failed: ${said}.`, init);
}

function canRepeat(error: unknown): boolean {
  return AGAIN.has(stateOf(error) ?? '') || isConnection(error);
}

/** The five characters that PostgreSQL gives an error; undefined for one that comes from elsewhere. */
function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

function isConnection(error: unknown): boolean {
  const state = stateOf(error);
  if (state !== undefined) return state.startsWith('08') || state === '53300' || /^57P0[123]$/.test(state);
  if (!(error instanceof Error) || error instanceof BulkheadError) return false;
  return (
    /^(E[A-Z]|ERR_TLS|ERR_SSL|CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(systemCode(error)) ||
    /^(Connection terminated|timeout e|The server does not support SSL|Client has encountered)/.test(
      error.message,
    )
  );
}

function systemCode(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** The driver itself finds that a password is missing, or that the server's answer to it is wrong. */
function isPassword(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('SASL:');
}

function reason(error: unknown): string {
  // Several addresses of one host tried in vain: an AggregateError without a message.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reason).join(', ');
  return error instanceof Error ? error.message : String(error);
}
