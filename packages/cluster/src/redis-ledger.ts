/** The ledger on Redis or Valkey: batches, their lines and the fleet. Each method is one step of the server. */
import { BulkheadError, outcomes } from '@bulkhead/workers';
import type { Redis } from 'ioredis';
import type {
  BatchRecord,
  BatchState,
  Claim,
  Ledger,
  LineResult,
  QueueRecord,
  ResultPage,
  Standing,
  WorkerRecord,
} from './ledger.js';
import { queueOfChunk } from './queue-names.js';
import { checkRedis } from './redis-check.js';
import { batchKeys, fleetKeys } from './redis-keys.js';
import type { RedisPatience } from './redis-patience.js';
import { freeResults, putResults, readBlob, readResults } from './redis-results.js';
import { LUA, standing } from './redis-scripts.js';

type Argument = string | number;

/** Runs one of our scripts. */
export type RunScript = (
  name: keyof typeof LUA,
  keys: readonly string[],
  args: readonly Argument[],
) => Promise<unknown>;

/** Before the first result. */
const BEGINNING = '0-0';

export class RedisLedger implements Ledger {
  readonly #client: Redis;
  readonly #place: string;
  readonly #patience: RedisPatience;

  /** The client stays its owner's. */
  constructor(client: Redis, place: string, patience: RedisPatience) {
    this.#client = client;
    this.#place = place;
    this.#patience = patience;
    for (const [name, lua] of Object.entries(LUA)) client.defineCommand(name, { lua });
  }

  check(): Promise<string[]> {
    return this.#patience.run(checkRedis(this.#client, this.#place));
  }

  // ── batches ─────────────────────────────────────────────────────────────────────────────────────────────────────
  async create(batch: Pick<BatchRecord, 'id' | 'name' | 'createdAt' | 'plan' | 'input'>): Promise<boolean> {
    // Listed first: an id without a record is passed over, a record without an id would never be found.
    await this.#patience.run(this.#client.zadd(fleetKeys.batches, 'NX', batch.createdAt, batch.id));
    const { name, createdAt, plan, input } = batch;
    const fields = { name, createdAt, plan: JSON.stringify(plan), input: JSON.stringify(input ?? null) };
    const made = await this.#script(
      'bulkheadCreate',
      [batchKeys(batch.id).batch],
      Object.entries(fields).flat(),
    );
    return made === 1;
  }

  async batch(id: string): Promise<BatchRecord | undefined> {
    return recordOf(id, await this.#patience.run(this.#client.hgetall(batchKeys(id).batch)));
  }

  async batches(): Promise<BatchRecord[]> {
    const ids = await this.#patience.run(this.#client.zrange(fleetKeys.batches, 0, -1));
    const records = await Promise.all(ids.map((id) => this.batch(id)));
    return records.filter((record) => record !== undefined);
  }

  async submitted(id: string, queues: QueueRecord[], chunks: string[], lines: number): Promise<void> {
    const keys = batchKeys(id);
    if (queues.length > 0) {
      const fields = queues.flatMap((queue) => [queue.queue, JSON.stringify(queue)]);
      await this.#patience.run(this.#client.hset(fleetKeys.queues, ...fields));
    }
    this.#require(id, await this.#script('bulkheadSubmitted', [keys.batch, keys.chunks], [lines, ...chunks]));
  }

  async seal(id: string, lines: number): Promise<void> {
    this.#require(id, await this.#script('bulkheadSeal', [batchKeys(id).batch], [lines]));
  }

  async chunks(id: string): Promise<Map<string, string[]>> {
    const byQueue = new Map<string, string[]>();
    for (const chunk of await this.#patience.run(this.#client.smembers(batchKeys(id).chunks))) {
      const queue = queueOfChunk(chunk);
      const chunks = byQueue.get(queue);
      if (chunks === undefined) byQueue.set(queue, [chunk]);
      else chunks.push(chunk);
    }
    return byQueue;
  }

  async cancel(id: string): Promise<void> {
    this.#require(id, await this.#script('bulkheadCancel', [batchKeys(id).batch], []));
  }

  async remove(id: string): Promise<void> {
    const keys = batchKeys(id);
    const queues = [...(await this.chunks(id)).keys()];
    // The record first: nothing is written for a batch that has none.
    await this.#patience.run(this.#client.unlink(keys.batch));
    const blobs = await this.#patience.run(this.#client.smembers(keys.blobs));
    for (const blob of blobs) await this.#patience.run(this.#client.unlink(keys.blob + blob));
    await this.#patience.run(
      this.#client.unlink(keys.chunks, keys.owners, keys.sent, keys.answered, keys.results, keys.blobs),
    );
    await this.#patience.run(this.#client.zrem(fleetKeys.batches, id));
    await this.#forgetQueues(queues);
  }

  // ── a chunk in the hands of a worker ────────────────────────────────────────────────────────────────────────────
  async claim(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<Claim> {
    const { batch, owners, sent, answered } = batchKeys(id);
    const [state, fates] = (await this.#script(
      'bulkheadClaim',
      [batch, owners, sent, answered],
      [chunk, owner, lines.join()],
    )) as [BatchState, string];
    const having = (fate: string): Set<number> => new Set(lines.filter((_, index) => fates[index] === fate));
    return { state, answered: having('2'), sent: having('1') };
  }

  async markSent(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<Standing> {
    const { batch, owners, sent } = batchKeys(id);
    return standing(
      await this.#script('bulkheadMarkSent', [batch, owners, sent], [chunk, owner, lines.join()]),
    );
  }

  async unmarkSent(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<void> {
    const { batch, owners, sent } = batchKeys(id);
    await this.#script('bulkheadUnmarkSent', [batch, owners, sent], [chunk, owner, lines.join()]);
  }

  putResults(
    id: string,
    chunk: string,
    owner: string,
    results: readonly LineResult[],
  ): Promise<{ standing: Standing; unreadBytes: number }> {
    return this.#patience.run(putResults(this.#client, this.#script, { id, chunk, owner, results }));
  }

  // ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────
  results(id: string, cursor: string | undefined, maxBytes: number): Promise<ResultPage> {
    return this.#patience.run(readResults(this.#client, id, cursor ?? BEGINNING, maxBytes));
  }

  blob(id: string, reference: string): AsyncIterable<Buffer> {
    return readBlob(this.#client, this.#patience, id, reference);
  }

  collected(id: string, cursor: string, to: string): Promise<void> {
    return freeResults(this.#script, id, cursor, to);
  }

  // ── the fleet ───────────────────────────────────────────────────────────────────────────────────────────────────
  async queues(): Promise<QueueRecord[]> {
    const records = await this.#patience.run(this.#client.hvals(fleetKeys.queues));
    return records.map((record) => JSON.parse(record) as QueueRecord);
  }

  async beat(worker: WorkerRecord, ttlMs: number): Promise<void> {
    const { expiries, workers } = fleetKeys;
    await this.#script('bulkheadBeat', [expiries, workers], [worker.id, ttlMs, JSON.stringify(worker)]);
  }

  async workers(): Promise<WorkerRecord[]> {
    const records = await this.#script('bulkheadWorkers', [fleetKeys.expiries, fleetKeys.workers], []);
    return (records as string[]).map((record) => JSON.parse(record) as WorkerRecord);
  }

  async lease(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return (await this.#script('bulkheadLease', [fleetKeys.lease(name)], [owner, ttlMs])) === 1;
  }

  async release(name: string, owner: string): Promise<void> {
    await this.#script('bulkheadRelease', [fleetKeys.lease(name), fleetKeys.places(name)], [owner]);
  }

  async isLeased(name: string): Promise<boolean> {
    return (await this.#patience.run(this.#client.exists(fleetKeys.lease(name)))) === 1;
  }

  async places(name: string, owner: string, want: number, limit: number, ttlMs: number): Promise<number> {
    return Number(
      await this.#script('bulkheadPlaces', [fleetKeys.places(name)], [owner, want, limit, ttlMs]),
    );
  }

  async permits(name: string, count: number, perSecond: number): Promise<number> {
    return Number(await this.#script('bulkheadPermits', [fleetKeys.rate(name)], [count, perSecond]));
  }

  async close(): Promise<void> {}

  /** Queues that no other batch has a chunk in. */
  async #forgetQueues(queues: readonly string[]): Promise<void> {
    const used = new Set<string>();
    for (const { id } of await this.batches()) {
      for (const queue of (await this.chunks(id)).keys()) used.add(queue);
    }
    const unused = queues.filter((queue) => !used.has(queue));
    if (unused.length > 0) await this.#patience.run(this.#client.hdel(fleetKeys.queues, ...unused));
  }

  #require(id: string, found: unknown): void {
    if (found !== 0) return;
    throw new BulkheadError('BAD_INPUT', `there is no batch "${id}" in Redis at ${this.#place}`);
  }

  readonly #script: RunScript = (name, keys, args) => {
    const command = Reflect.get(this.#client, name) as (...all: Argument[]) => Promise<unknown>;
    return this.#patience.run(command.call(this.#client, keys.length, ...keys, ...args));
  };
}

function recordOf(id: string, fields: Record<string, string>): BatchRecord | undefined {
  const { name, state, plan, input, collectedTo } = fields;
  if (name === undefined || plan === undefined) return undefined;
  const counts = outcomes.flatMap((outcome) => {
    const count = fields[`outcome:${outcome}`];
    return count === undefined ? [] : [[outcome, Number(count)] as const];
  });
  return {
    id,
    name,
    state: state as BatchState,
    createdAt: Number(fields.createdAt),
    plan: JSON.parse(plan) as BatchRecord['plan'],
    input: (JSON.parse(input ?? 'null') as BatchRecord['input'] | null) ?? undefined,
    lines: Number(fields.lines),
    answered: Number(fields.answered),
    outcomes: Object.fromEntries(counts),
    unreadBytes: Number(fields.unread),
    collected: collectedTo === undefined ? undefined : { lines: Number(fields.collected), to: collectedTo },
  };
}
