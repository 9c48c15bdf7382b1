/**
 * Which shards are this worker's: each is held by one worker at a time, so that calls with the same affinity meet the same
 * process. Every worker takes its fair share of them; one that has work is not given up for a newcomer.
 */
import type { QueueRecord, WorkerRecord } from '../ledger.js';
import { chunkCounts } from '../status.js';
import type { Store } from '../store.js';

export interface ShardsOptions {
  /** The worker. */
  owner: string;
  leaseMs: number;
  store: Store;
  /** The shard is ours: take its chunks. */
  open: (record: QueueRecord) => void;
  /** The shard is to be another's, or is already. Resolves once nothing of it runs here. */
  close: (queue: string, why?: 'unusable') => Promise<void>;
  /** Something of the shard runs here. */
  isBusy: (queue: string) => boolean;
}

export class Shards {
  readonly #options: ShardsOptions;
  readonly #held = new Map<string, QueueRecord>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: ShardsOptions) {
    this.#options = options;
  }

  /** Renews what is held, gives up what is another's by now, and takes or gives what is missing to a fair share. */
  async tick(listed: readonly QueueRecord[], workers: readonly WorkerRecord[]): Promise<void> {
    const names = new Set(listed.map(({ queue }) => queue));
    for (const queue of [...this.#held.keys()]) {
      // A shard of batches that are gone has no chunk any more.
      if (!names.has(queue)) this.#giveUp(queue);
      else if (!(await this.#lease(queue))) this.#lost(queue);
    }
    for (const [server, shards] of byServer(listed)) {
      const peers = workers.filter(({ servers }) => servers.includes(server)).length;
      await this.#balance(shards, Math.ceil(shards.length / Math.max(1, peers)));
    }
  }

  /** Another worker may have the shards of a server at once. */
  leave(isOf: (route: string) => boolean): void {
    for (const [queue, { server }] of this.#held) if (isOf(server)) this.#giveUp(queue, 'unusable');
  }

  async close(): Promise<void> {
    for (const queue of [...this.#held.keys()]) this.#giveUp(queue);
    await Promise.all(this.#leaving);
  }

  async #balance(shards: readonly QueueRecord[], share: number): Promise<void> {
    const held = shards.filter(({ queue }) => this.#held.has(queue));
    if (held.length > share) {
      const idle = await this.#idle(held);
      if (idle !== undefined) this.#giveUp(idle);
      return;
    }
    let missing = share - held.length;
    for (const record of shards) {
      if (missing === 0) return;
      if (this.#held.has(record.queue) || !(await this.#lease(record.queue))) continue;
      this.#held.set(record.queue, record);
      this.#options.open(record);
      missing--;
    }
  }

  /** One that has no work, if there is one: a few are looked at in each round. */
  async #idle(held: readonly QueueRecord[]): Promise<string | undefined> {
    for (const { queue } of held) {
      if (this.#options.isBusy(queue)) continue;
      const counts = await chunkCounts(this.#options.store, queue);
      if (Object.values(counts).every((count) => count === 0)) return queue;
    }
    return undefined;
  }

  /** Nobody waits for it: calls in flight may take long, and the other shards are to be renewed meanwhile. */
  #giveUp(queue: string, why?: 'unusable'): void {
    const { store, owner } = this.#options;
    const left = this.#lost(queue, why)
      .then(() => store.ledger.release(nameOf(queue), owner))
      .catch(() => {}) // then it runs out by itself
      .finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }

  #lost(queue: string, why?: 'unusable'): Promise<void> {
    this.#held.delete(queue);
    return this.#options.close(queue, why);
  }

  #lease(queue: string): Promise<boolean> {
    const { store, owner, leaseMs } = this.#options;
    return store.ledger.lease(nameOf(queue), owner, leaseMs);
  }
}

function byServer(listed: readonly QueueRecord[]): Map<string, QueueRecord[]> {
  const servers = new Map<string, QueueRecord[]>();
  for (const record of listed) {
    const shards = servers.get(record.server);
    if (shards === undefined) servers.set(record.server, [record]);
    else shards.push(record);
  }
  return servers;
}

function nameOf(queue: string): string {
  return `shard-${queue}`;
}
