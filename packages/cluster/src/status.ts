/** What is known of a batch: its record, where its chunks wait and who works on them. */
import { BulkheadError } from '@bulkhead/workers';
import type { BatchRecord, QueueRecord, WorkerRecord } from './ledger.js';
import { settleBatch } from './settle.js';
import type { Store } from './store.js';
import { isSubmitting } from './submit-lease.js';

export interface QueueStatus extends QueueRecord {
  /** Chunks of all batches in the queue. */
  waiting: number;
  running: number;
  /** They come back in a moment: no place was free, or nobody reads the results. */
  delayed: number;
  /** Workers that can use the server now. With none, chunks wait for one. */
  workers: number;
  /** Workers that have the server and cannot use it now. */
  unusable: { worker: Pick<WorkerRecord, 'id' | 'host' | 'pid'>; reason: string }[];
}

/** A batch, its queues, and who works. */
export interface BatchStatus extends BatchRecord {
  /** Every line has its result, and none will follow. */
  finished: boolean;
  /** Somebody submits to it at this moment. An `open` one for which this is false waits to be continued. */
  submitting: boolean;
  queues: QueueStatus[];
  /** Of the whole fleet. */
  workers: WorkerRecord[];
}

/** @throws {BulkheadError} `BAD_INPUT` there is no such batch. */
export async function batchOf({ ledger, place }: Store, id: string): Promise<BatchRecord> {
  const batch = await ledger.batch(id);
  if (batch !== undefined) return batch;
  throw new BulkheadError(
    'BAD_INPUT',
    `there is no batch "${id}" at ${place}; \`bulkhead batches\` lists them`,
  );
}

/** Whether every line has its result. A batch that is still being submitted is never finished. */
export function isFinished({ state, answered, lines }: BatchRecord): boolean {
  return state !== 'open' && answered >= lines;
}

/** Also writes the ends of lines that nobody will run. */
export async function statusOf(store: Store, id: string): Promise<BatchStatus> {
  const { held } = await settleBatch(store, await batchOf(store, id));
  const [batch, submitting, chunks, queues, workers] = await Promise.all([
    batchOf(store, id),
    isSubmitting(store.ledger, id),
    store.ledger.chunks(id),
    store.ledger.queues(),
    store.ledger.workers(),
  ]);
  const own = queues.filter(({ queue }) => chunks.has(queue)).sort((a, b) => (a.queue < b.queue ? -1 : 1));
  return {
    ...batch,
    finished: isFinished(batch) && held === 0,
    submitting,
    queues: await Promise.all(own.map((queue) => queueStatus(store, queue, workers))),
    workers,
  };
}

async function queueStatus(
  store: Store,
  record: QueueRecord,
  workers: readonly WorkerRecord[],
): Promise<QueueStatus> {
  const counts = await chunkCounts(store, record.queue);
  return {
    ...record,
    waiting: (counts.waiting ?? 0) + (counts.prioritized ?? 0),
    running: counts.active ?? 0,
    delayed: counts.delayed ?? 0,
    workers: workers.filter(({ servers }) => servers.includes(record.server)).length,
    unusable: workers.flatMap(({ id, host, pid, unusable = [] }) => {
      const found = unusable.find(({ server }) => server === record.server);
      return found === undefined ? [] : [{ worker: { id, host, pid }, reason: found.reason }];
    }),
  };
}

/** Chunks of a queue that are not over, by what they wait for. */
export function chunkCounts(store: Store, queue: string): Promise<Record<string, number>> {
  return store.patiently(() =>
    store.queue(queue).getJobCounts('waiting', 'prioritized', 'active', 'delayed'),
  );
}
