/** Ends batches before their time: no further call starts, and each line that was not sent gets its `cancelled` result. */
import { type Settled, settleBatch } from './settle.js';
import { batchOf } from './status.js';
import type { Store } from './store.js';

/**
 * Cancels a batch; one that is finished stays as it is. Works without any worker. Chunks that a worker holds are ended by
 * it within about a second.
 * @throws {BulkheadError} `BAD_INPUT` there is no such batch.
 */
export async function cancelBatch(store: Store, id: string): Promise<Settled> {
  await batchOf(store, id);
  await store.ledger.cancel(id);
  return settleBatch(store, await batchOf(store, id));
}

/** Cancels a batch and forgets it with its results. */
export async function removeBatch(store: Store, id: string): Promise<void> {
  await cancelBatch(store, id);
  await store.ledger.remove(id);
}
