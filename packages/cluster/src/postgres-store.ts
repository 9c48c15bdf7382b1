/**
 * The store on PostgreSQL: the ledger, and BullMQ with its PostgreSQL back end in a schema beside the ledger's. A queue
 * holds one connection, a worker two (one of them waits for notifications).
 */
import { BulkheadError } from '@bulkhead/workers';
import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
  withBackend,
} from 'bullmq';
import pg from 'pg';
import type { Chunk } from './chunk.js';
import { clusterDefaults } from './defaults.js';
import type { Ledger } from './ledger.js';
import {
  type PostgresAddress,
  PostgresConnection,
  postgresAddress,
  postgresError,
} from './postgres-connection.js';
import { PostgresLedger } from './postgres-ledger.js';
import { postgresQueueBackend } from './postgres-queue-backend.js';
import type { ChunkProcessor, ChunkQueue, ChunkWorker, ChunkWorkerOptions, Store } from './store.js';

const { Queue: PostgresQueue, Worker: PostgresWorker } = withBackend(postgresQueueBackend);
/** The back end waits for notifications on a connection of its own, so that one is enough for all else. */
const CONNECTIONS = 1;
/** A worker that lost the server asks again after this, in ms; BullMQ's own 15 s would make a restart felt. */
const RETRY_MS = 1_000;
const SCHEMA_SUFFIX = '_bullmq';

/** @param url `postgres://user:password@host:port/database`; a parameter `schema` names the schema. */
export async function openPostgresStore(url: string, options: { patienceMs: number }): Promise<Store> {
  const connection = new PostgresConnection(postgresAddress(url), options.patienceMs);
  const ledger = new PostgresLedger(connection);
  try {
    const warnings = await ledger.check();
    await createQueueTables(connection.address);
    return new PostgresStore(connection, ledger, warnings);
  } catch (error) {
    await ledger.close();
    throw postgresError(error, connection.address);
  }
}

async function createQueueTables({ url, schema, place }: PostgresAddress): Promise<void> {
  const name = schema + SCHEMA_SUFFIX;
  const client = new pg.Client({ connectionString: url });
  // A connection that breaks fails the query, too.
  client.on('error', () => {});
  try {
    await client.connect();
    const version = await assertSchemaCompatibility(client, name).catch((error: unknown) => {
      if (error instanceof SchemaMigrationRequiredError) return 0;
      throw error;
    });
    // Only then: it needs the right to create.
    if (version < LATEST_SCHEMA_VERSION) await runMigrations(client, name);
  } catch (error) {
    if (!(error instanceof SchemaVersionMismatchError)) throw error;
    throw new BulkheadError('BAD_CONFIG', `PostgreSQL at ${place}, schema "${name}": ${error.message}`, {
      cause: error,
    });
  } finally {
    await client.end();
  }
}

/** The casts: what `on()` gives back carries the type of the connection along, which nobody here asks for. */
class PostgresStore implements Store {
  readonly ledger: Ledger;
  readonly place: string;
  readonly warnings: readonly string[];
  readonly #connection: PostgresConnection;
  readonly #queues = new Map<string, InstanceType<typeof PostgresQueue<Chunk, void, string>>>();

  constructor(connection: PostgresConnection, ledger: Ledger, warnings: readonly string[]) {
    this.#connection = connection;
    this.ledger = ledger;
    this.place = connection.address.place;
    this.warnings = warnings;
  }

  queue(name: string): ChunkQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new PostgresQueue<Chunk, void, string>(name, {
        connection: queueConnection(this.#connection.address),
        defaultJobOptions: { removeOnComplete: true },
      });
      // Told by those who wait for the queue; without a listener it would end the process.
      queue.on('error', () => {});
      this.#queues.set(name, queue);
    }
    return queue as unknown as ChunkQueue;
  }

  worker(name: string, processor: ChunkProcessor, options: ChunkWorkerOptions = {}): ChunkWorker {
    const worker = new PostgresWorker<Chunk, void, string>(name, processor, {
      lockDuration: clusterDefaults.lockMs,
      stalledInterval: clusterDefaults.stalledEveryMs,
      maxStalledCount: clusterDefaults.maxStalled,
      runRetryDelay: RETRY_MS,
      ...options,
      connection: queueConnection(this.#connection.address),
    });
    worker.on('error', () => {});
    return worker as unknown as ChunkWorker;
  }

  patiently<T>(work: () => Promise<T>): Promise<T> {
    return this.#connection.patiently(work);
  }

  patient(): Store {
    const connection = new PostgresConnection(this.#connection.address, Number.POSITIVE_INFINITY);
    return new PostgresStore(connection, new PostgresLedger(connection), this.warnings);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close().catch(() => {})));
    this.#queues.clear();
    await this.ledger.close();
  }
}

function queueConnection({ url, schema }: PostgresAddress) {
  return { connectionString: url, schema: schema + SCHEMA_SUFFIX, max: CONNECTIONS, keepAlive: true };
}
