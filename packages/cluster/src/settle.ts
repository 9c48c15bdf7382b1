/**
 * Ends for lines that no worker will run: those of a cancelled batch that still wait, and those of chunks that were given
 * up. Whoever looks at a batch may do this, and more than once: a line that has its result keeps it.
 */
import { errorLine, parseRecord } from '@bulkhead/runtime/batch';
import { BulkheadError } from '@bulkhead/workers';
import { type Chunk, parseChunk } from './chunk.js';
import type { BatchRecord, Claim, Ledger, LineResult } from './ledger.js';
import type { ChunkJob, Store } from './store.js';

/** Why nobody will run a chunk. */
export type ChunkEnd =
  | { is: 'cancelled' }
  /** `workers`: how many were lost with it; `reason`: what the last one said, if it could. */
  | { is: 'given-up'; workers: number; reason: string };

/** What settling a batch without its workers did. */
export interface Settled {
  /** Lines that got their end now. */
  lines: number;
  /** Chunks that a worker holds and will end itself. */
  held: number;
}

type LineError = Parameters<typeof errorLine>[1];

const OWNER = 'settled';
const FAILED_AT_ONCE = 100;
const AT_ONCE = 16;

/** Writes the end of each line of the chunk that has none; whoever had the chunk can send nothing more. */
export async function settleChunk(ledger: Ledger, id: string, chunk: Chunk, end: ChunkEnd): Promise<number> {
  const claim = await ledger.claim(
    chunk.batch,
    id,
    OWNER,
    chunk.lines.map(([line]) => line),
  );
  const results = chunk.lines
    .filter(([line]) => !claim.answered.has(line))
    .map(([line, text]) => endOf(line, text, claim, end));
  if (results.length > 0) await ledger.putResults(chunk.batch, id, OWNER, results);
  return results.length;
}

/** Settles the chunks that the queue has given up, of whichever batch. Gives the number of lines. */
export async function settleFailed(store: Store, queue: string): Promise<number> {
  let lines = 0;
  for (;;) {
    const jobs = await store.patiently(() => store.queue(queue).getFailed(0, FAILED_AT_ONCE - 1));
    let removed = 0;
    for (const job of jobs) {
      const chunk = chunkOf(job);
      if (chunk !== undefined) lines += await settleChunk(store.ledger, job.id ?? '', chunk, givenUp(job));
      if (await discard(store, job)) removed++;
    }
    // What cannot be removed would be met again.
    if (jobs.length < FAILED_AT_ONCE || removed === 0) return lines;
  }
}

/** Settles what of the batch nobody will run. */
export async function settleBatch(store: Store, batch: BatchRecord): Promise<Settled> {
  const byQueue = await store.ledger.chunks(batch.id);
  if (batch.state !== 'cancelled') {
    let lines = 0;
    for (const queue of byQueue.keys()) lines += await settleFailed(store, queue);
    return { lines, held: 0 };
  }
  const workers = await store.ledger.workers();
  // Calls may still be in flight where no further one is taken.
  const served = new Set(
    workers.flatMap(({ servers, unusable = [] }) => [...servers, ...unusable.map(({ server }) => server)]),
  );
  const servers = new Map((await store.ledger.queues()).map(({ queue, server }) => [queue, server]));
  const total: Settled = { lines: 0, held: 0 };
  for (const [queue, chunks] of byQueue) {
    const hasWorker = served.has(servers.get(queue) ?? '');
    for (let at = 0; at < chunks.length; at += AT_ONCE) {
      const some = chunks.slice(at, at + AT_ONCE);
      const settled = await Promise.all(some.map((chunk) => cancelChunk(store, queue, chunk, hasWorker)));
      for (const { lines, held } of settled) {
        total.lines += lines;
        total.held += held;
      }
    }
  }
  return total;
}

async function cancelChunk(store: Store, queue: string, id: string, hasWorker: boolean): Promise<Settled> {
  const job = await store.patiently(() => store.queue(queue).getJob(id));
  const chunk = job === undefined ? undefined : chunkOf(job);
  if (job === undefined || chunk === undefined) return { lines: 0, held: 0 };
  // A worker that lives ends its calls in flight itself. Taking the chunk from a dead one takes what it had sent as lost.
  if (hasWorker && (await store.patiently(() => job.isActive()))) return { lines: 0, held: 1 };
  const lines = await settleChunk(store.ledger, id, chunk, { is: 'cancelled' });
  return { lines, held: (await discard(store, job)) ? 0 : 1 };
}

function endOf(line: number, text: string, claim: Claim, end: ChunkEnd): LineResult {
  const { id, server, tool } = parseRecord(text);
  const error = errorOf(line, claim.sent.has(line), end);
  const facts = { attempts: error.outcome === 'outcome_unknown' ? 1 : 0, queueMs: 0, callMs: 0 };
  return { line, outcome: error.outcome, text: errorLine({ id, line, server, tool }, error, facts) };
}

/** No error object: it would cost more than all else here. */
function errorOf(line: number, wasSent: boolean, end: ChunkEnd): LineError {
  const lost = end.is === 'cancelled' ? 'its worker was lost' : whatHappened(end);
  if (wasSent) {
    const message =
      `line ${line} was sent, and then ${lost}: the call may have run. ` +
      'Check on the server, or mark the line "idempotent" if it may run twice';
    return { code: 'OUTCOME_UNKNOWN', outcome: 'outcome_unknown', message };
  }
  if (end.is === 'cancelled') {
    const message = `line ${line} was not sent: the batch was cancelled`;
    return { code: 'CANCELLED', outcome: 'cancelled', message };
  }
  const message = `line ${line} was not sent: ${lost}. Submit it again`;
  return { code: 'CONNECTION_LOST', outcome: 'connection_lost', message };
}

function whatHappened({ workers, reason }: Extract<ChunkEnd, { is: 'given-up' }>): string {
  if (workers === 0) return `its chunk could not be run (${reason})`;
  const lost = workers === 1 ? '1 worker was' : `${workers} workers were`;
  return `${lost} lost while running its chunk, which was given up`;
}

function givenUp(job: ChunkJob): ChunkEnd {
  return { is: 'given-up', workers: job.stalledCounter ?? 0, reason: job.failedReason ?? 'unknown' };
}

function chunkOf(job: ChunkJob): Chunk | undefined {
  try {
    return parseChunk(job.data, job.id ?? '');
  } catch {
    return undefined;
  }
}

/** False when a worker has it now. */
async function discard(store: Store, job: ChunkJob): Promise<boolean> {
  try {
    await store.patiently(() => job.remove());
    return true;
  } catch (error) {
    if (error instanceof BulkheadError) throw error;
    return false;
  }
}
