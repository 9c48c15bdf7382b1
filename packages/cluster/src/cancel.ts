/** Ends batches before their time: no further call starts, and each line that was not sent gets its `cancelled` result. */
import { type Settled, settleBatch } from './settle.js';
import { batchOf } from './status.js';
import type { Store } from './store.js';

const AT_ONCE = 64;

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

/**
 * Forgets a batch with its results; no further call of it starts. What a worker has of it is dropped as it ends.
 * @throws {BulkheadError} `BAD_INPUT` there is no such batch.
 */
export async function removeBatch(store: Store, id: string): Promise<void> {
  await batchOf(store, id);
  await store.ledger.cancel(id);
  for (const [queue, chunks] of await store.ledger.chunks(id)) {
    for (let at = 0; at < chunks.length; at += AT_ONCE) {
      // 0 for one that is done, or that a worker has.
      const some = chunks.slice(at, at + AT_ONCE);
      await store.patiently(() => Promise.all(some.map((chunk) => store.queue(queue).remove(chunk))));
    }
  }
  await store.ledger.remove(id);
}
