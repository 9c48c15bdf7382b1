/**
 * The store behind a cluster: the ledger, and BullMQ's queues and workers on the same server. Everything else in this
 * package sees only what stands here, whichever server it is.
 */
import type { Job, Queue, Worker, WorkerOptions } from 'bullmq';
import type { Chunk } from './chunk.js';
import { clusterDefaults } from './defaults.js';
import type { Ledger } from './ledger.js';
import { openPostgresStore } from './postgres-store.js';
import { openRedisStore } from './redis-store.js';

/** Which store, by its address. */
export type StoreLocation =
  /** `redis://` or, with TLS, `rediss://`, with user and password where needed: Redis 6.2 or later, or Valkey. */
  | { redis: string }
  /** `postgres://user:password@host:port/database?schema=name`: PostgreSQL 13 or later; schema `bulkhead_cluster`. */
  | { postgres: string };

/** How patient calls of the store are. */
export interface StoreOptions {
  /**
   * How long a call waits for a store that went away before it fails with `CONNECTION_LOST`, in ms; what it asked for may
   * still happen. Default 20 000; `Infinity` waits without limit.
   */
  patienceMs?: number;
}

export type ChunkJob = Job<Chunk, void, string>;
export type ChunkProcessor = (job: ChunkJob, token?: string, signal?: AbortSignal) => Promise<void>;

/** What is used of BullMQ's queue. */
export type ChunkQueue = Pick<
  Queue<Chunk, void, string>,
  | 'name'
  | 'addBulk'
  | 'getJob'
  | 'getJobs'
  | 'getJobCounts'
  | 'getFailed'
  | 'remove'
  | 'setGlobalConcurrency'
  | 'on'
  | 'off'
  | 'close'
>;

/** What is used of BullMQ's worker. */
export type ChunkWorker = Pick<
  Worker<Chunk, void, string>,
  'name' | 'on' | 'off' | 'run' | 'pause' | 'close' | 'cancelJob' | 'waitUntilReady'
>;

export type ChunkWorkerOptions = Omit<WorkerOptions, 'connection' | 'prefix' | 'skipVersionCheck'>;

export interface Store {
  readonly ledger: Ledger;
  /** Where it is, without the password. */
  readonly place: string;
  /** What could lose a batch here; see `Ledger.check()`. */
  readonly warnings: readonly string[];
  /** The same object for the same name; closed with the store. */
  queue(name: string): ChunkQueue;
  /** A new one each time; its owner closes it before the store. */
  worker(name: string, processor: ChunkProcessor, options?: ChunkWorkerOptions): ChunkWorker;
  /** Applies the patience of the store to work on a queue, which may be done twice while the store goes and comes. */
  patiently<T>(work: () => Promise<T>): Promise<T>;
  /** The same store with connections of its own and a patience without limit, for a worker. */
  patient(): Store;
  close(): Promise<void>;
}

/**
 * Connects and checks the store.
 * @throws {BulkheadError} `CONNECTION_LOST` it cannot be reached; `BAD_CONFIG` it cannot hold batches.
 */
export async function openStore(location: StoreLocation, options: StoreOptions = {}): Promise<Store> {
  const patienceMs = options.patienceMs ?? clusterDefaults.patienceMs;
  if ('redis' in location) return openRedisStore(location.redis, { patienceMs });
  return openPostgresStore(location.postgres, { patienceMs });
}
