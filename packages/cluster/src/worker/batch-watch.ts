/** The batches whose chunks this worker holds: how each stands, looked up when a chunk is taken and at every beat. */
import type { BatchPlan, BatchRecord, BatchState, Ledger } from '../ledger.js';
import type { Bell } from './bell.js';

export interface WatchedBatch {
  readonly id: string;
  readonly plan: BatchPlan;
  /** `removed` is told as `cancelled`: nothing more is to be done for it. */
  state: BatchState;
  unreadBytes: number;
  /** Chunks that hold it, each with what to do when the batch is cancelled. */
  readonly holders: Set<() => void>;
}

export class BatchWatch {
  readonly #ledger: Ledger;
  readonly #bell: Bell;
  readonly #batches = new Map<string, WatchedBatch>();

  constructor(ledger: Ledger, bell: Bell) {
    this.#ledger = ledger;
    this.#bell = bell;
  }

  /** Undefined: there is no such batch any more. Give it back with {@link drop}. */
  async take(id: string, onCancelled: () => void): Promise<WatchedBatch | undefined> {
    const record = await this.#ledger.batch(id);
    let batch = this.#batches.get(id);
    if (batch !== undefined) {
      update(batch, record);
    } else {
      if (record === undefined) return undefined;
      const { plan, state, unreadBytes } = record;
      batch = { id, plan, state, unreadBytes, holders: new Set() };
      this.#batches.set(id, batch);
    }
    batch.holders.add(onCancelled);
    return batch;
  }

  drop(batch: WatchedBatch, onCancelled: () => void): void {
    batch.holders.delete(onCancelled);
    if (batch.holders.size === 0) this.#batches.delete(batch.id);
  }

  async refresh(): Promise<void> {
    for (const batch of this.#batches.values()) update(batch, await this.#ledger.batch(batch.id));
    this.#bell.ring();
  }
}

/** Whether so many results wait to be collected that no further call of the batch should start. */
export function isUnread({ plan, unreadBytes }: WatchedBatch): boolean {
  return unreadBytes > plan.maxUnreadBytes;
}

function update(batch: WatchedBatch, record: BatchRecord | undefined): void {
  batch.state = record?.state ?? 'cancelled';
  batch.unreadBytes = record?.unreadBytes ?? 0;
  if (batch.state === 'cancelled') for (const onCancelled of batch.holders) onCancelled();
}
