/** The store on Redis or Valkey: one connection for the ledger and the queues, and one more for every BullMQ worker. */
import { Queue, Worker } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import type { Chunk } from './chunk.js';
import { clusterDefaults } from './defaults.js';
import { probeRedis } from './redis-check.js';
import { redisPlace } from './redis-errors.js';
import { RedisLedger } from './redis-ledger.js';
import { RedisPatience } from './redis-patience.js';
import type { ChunkProcessor, ChunkQueue, ChunkWorker, ChunkWorkerOptions, Store } from './store.js';

/** Of BullMQ's keys; the ledger's begin alike, with the batch in braces. */
const PREFIX = 'bulkhead';
const RECONNECT_STEP_MS = 100;
const RECONNECT_MOST_MS = 2_000;

const CONNECTION = {
  // BullMQ wants it: what is asked while the server is away is asked again when it is back.
  maxRetriesPerRequest: null,
  connectTimeout: clusterDefaults.connectMs,
  keepAlive: clusterDefaults.connectMs,
  retryStrategy: (times: number) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_MOST_MS),
  // After a fail-over the old primary is a replica: connect again and repeat the command.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 2 : false),
} satisfies RedisOptions;

export async function openRedisStore(url: string, options: { patienceMs: number }): Promise<Store> {
  const place = redisPlace(url);
  const warnings = await probeRedis(url, place, clusterDefaults.connectMs);
  return new RedisStore(url, place, warnings, options.patienceMs);
}

/** BullMQ's workers make copies of it to wait on; those that could not be closed while the server was away end with it. */
class Connection extends Redis {
  readonly #copies = new Set<Redis>();

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate(override);
    this.#copies.add(copy);
    copy.once('end', () => this.#copies.delete(copy));
    return copy;
  }

  /** For good; whoever still waits for an answer is told. */
  abandon(): void {
    for (const client of [this, ...this.#copies]) {
      // While it waits to connect again the client would only stop its timer, and tell nobody.
      if (client.status === 'reconnecting') client.status = 'wait';
      client.disconnect();
    }
  }
}

class RedisStore implements Store {
  readonly ledger: RedisLedger;
  readonly place: string;
  readonly warnings: readonly string[];
  readonly #url: string;
  readonly #client: Connection;
  readonly #patience: RedisPatience;
  readonly #queues = new Map<string, Queue<Chunk, void, string>>();

  constructor(url: string, place: string, warnings: readonly string[], patienceMs: number) {
    this.#url = url;
    this.place = place;
    this.warnings = warnings;
    this.#client = new Connection(url, CONNECTION);
    // One listener per queue and worker.
    this.#client.setMaxListeners(0);
    this.#patience = new RedisPatience(this.#client, place, patienceMs);
    this.ledger = new RedisLedger(this.#client, place, this.#patience);
  }

  queue(name: string): ChunkQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new Queue<Chunk, void, string>(name, {
        connection: this.#client,
        prefix: PREFIX,
        skipVersionCheck: true,
        defaultJobOptions: { removeOnComplete: true },
      });
      // Told by those who wait for the queue; without a listener it would end the process.
      queue.on('error', () => {});
      this.#queues.set(name, queue);
    }
    return queue;
  }

  worker(name: string, processor: ChunkProcessor, options: ChunkWorkerOptions = {}): ChunkWorker {
    const worker = new Worker<Chunk, void, string>(name, processor, {
      lockDuration: clusterDefaults.lockMs,
      stalledInterval: clusterDefaults.stalledEveryMs,
      maxStalledCount: clusterDefaults.maxStalled,
      ...options,
      connection: this.#client,
      prefix: PREFIX,
      skipVersionCheck: true,
    });
    worker.on('error', () => {});
    return worker;
  }

  patiently<T>(work: () => Promise<T>): Promise<T> {
    return this.#patience.run(work());
  }

  patient(): Store {
    return new RedisStore(this.#url, this.place, this.warnings, Number.POSITIVE_INFINITY);
  }

  async close(): Promise<void> {
    this.#patience.end();
    await Promise.all([...this.#queues.values()].map((queue) => queue.close().catch(() => {})));
    this.#queues.clear();
    await this.ledger.close();
    this.#client.abandon();
  }
}
