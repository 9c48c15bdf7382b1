/**
 * Input to queued chunks, in constant memory. What was noted in the ledger is found again: a submission that was killed is
 * continued by submitting the same file to the same batch, which adds only what is missing.
 */
import { createReadStream } from 'node:fs';
import { errorLine, type InputLine, LineSplitter, parseRecord } from '@bulkhead/runtime/batch';
import { BulkheadError } from '@bulkhead/workers';
import { Chunker, type NewChunk } from './chunker.js';
import { clusterDefaults } from './defaults.js';
import { markOf, requireSameInput } from './input-mark.js';
import type { BatchPlan, BatchRecord, LineResult } from './ledger.js';
import { planOf } from './plan.js';
import { isBatchId, newBatchId } from './queue-names.js';
import { settleBatch } from './settle.js';
import type { Store } from './store.js';
import { whileSubmitting } from './submit-lease.js';

/** What is submitted, and how it shall be run. */
export interface SubmitOptions {
  /** Path of a JSON Lines file, or its bytes. Only the submission of a file can be continued. */
  input: string | AsyncIterable<Uint8Array>;
  /** For people. Default: the name of the file. */
  name?: string;
  /** How the batch is run; left-out fields have their defaults. That of a batch that is continued stays as it was. */
  plan?: Partial<BatchPlan>;
  /**
   * Id of the batch: a letter, then letters, digits and `-`, 64 in all at most. One that exists is continued with the same
   * input. Default: a new one.
   */
  batch?: string;
  /** Aborting ends the submission; what was submitted stays and runs. */
  signal?: AbortSignal;
  /** Called after each step with the number of lines submitted by now, and once the id is known. */
  onProgress?: (progress: { id: string; lines: number }) => void;
}

/** What a submission stored. */
export interface SubmitReport {
  id: string;
  /** Lines of the input, blank ones not counted. */
  lines: number;
  /** Chunks that they make. */
  chunks: number;
  /** Lines that are no call; each has its `rejected` result already. */
  badInput: number;
  /** The batch was there before. */
  continued: boolean;
}

/**
 * @throws {BulkheadError} `BAD_INPUT` the input cannot be read or is another batch's, or the plan is wrong; `CANCELLED` the
 * batch was; `CONNECTION_LOST`, `BAD_CONFIG` the store, in mid-work naming what is saved.
 */
export async function submit(store: Store, options: SubmitOptions): Promise<SubmitReport> {
  const mark = typeof options.input === 'string' ? await markOf(options.input) : undefined;
  const { batch, isContinued } = await openBatch(store, options, mark);
  options.onProgress?.({ id: batch.id, lines: 0 });
  const submission = new Submission(store, batch, options);
  try {
    const report = await whileSubmitting(store.ledger, batch.id, () => submission.run());
    return { ...report, continued: isContinued };
  } catch (error) {
    throw withRemedy(error, batch.id, submission.lines);
  }
}

async function openBatch(
  { ledger }: Store,
  { input, name, plan, batch: wanted }: SubmitOptions,
  mark: BatchRecord['input'],
): Promise<{ batch: BatchRecord; isContinued: boolean }> {
  if (wanted !== undefined && !isBatchId(wanted)) {
    throw new BulkheadError(
      'BAD_INPUT',
      `"${wanted}" cannot be the id of a batch: a letter, then letters, digits and "-", 64 in all at most`,
    );
  }
  const id = wanted ?? newBatchId(new Date(), Math.random);
  const made = await ledger.create({
    id,
    name: name ?? (typeof input === 'string' ? (input.split(/[/\\]/).at(-1) ?? input) : 'stream'),
    createdAt: Date.now(),
    plan: planOf(plan),
    input: mark,
  });
  const batch = await ledger.batch(id);
  if (batch === undefined) throw new BulkheadError('CANCELLED', `batch "${id}" was removed`);
  const isContinued = !made && wanted !== undefined;
  if (isContinued) requireSameInput(batch, mark);
  if (batch.state === 'cancelled') throw cancelled(id);
  return { batch, isContinued };
}

class Submission {
  readonly #store: Store;
  readonly #batch: BatchRecord;
  readonly #options: SubmitOptions;
  readonly #chunker: Chunker;
  #chunks: NewChunk[] = [];
  #bad: LineResult[] = [];
  #made = 0;
  #badInput = 0;
  /** Lines that are in the store. */
  lines = 0;

  constructor(store: Store, batch: BatchRecord, options: SubmitOptions) {
    this.#store = store;
    this.#batch = batch;
    this.#options = options;
    this.#chunker = new Chunker(batch.id, batch.plan);
  }

  async run(): Promise<Omit<SubmitReport, 'continued'>> {
    const { input, signal } = this.#options;
    const { id } = this.#batch;
    const splitter = new LineSplitter(clusterDefaults.maxLineBytes);
    const pieces = typeof input === 'string' ? createReadStream(input) : input;
    for await (const piece of pieces) {
      if (signal?.aborted === true) throw new BulkheadError('CANCELLED', 'the submission was interrupted');
      await this.#accept(splitter.push(piece as Uint8Array));
    }
    await this.#accept(splitter.end());
    this.#chunks.push(...this.#chunker.end());
    await this.#save();
    await this.#store.ledger.seal(id, this.lines);
    return { id, lines: this.lines, chunks: this.#made, badInput: this.#badInput };
  }

  async #accept(lines: readonly InputLine[]): Promise<void> {
    for (const line of lines) {
      const record =
        line.text === undefined
          ? { kind: 'bad' as const, id: 'null', server: undefined, tool: undefined, problem: line.problem }
          : parseRecord(line.text);
      if (record.kind === 'bad') {
        const error = new BulkheadError('BAD_INPUT', `line ${line.line}: ${record.problem ?? 'unreadable'}`);
        const facts = { attempts: 0, queueMs: 0, callMs: 0 };
        this.#bad.push({
          line: line.line,
          outcome: 'rejected',
          text: errorLine({ ...record, line: line.line }, error, facts),
        });
        this.#badInput++;
      } else {
        this.#chunks.push(...this.#chunker.add(line, record));
      }
      const { chunksAtOnce, resultLines } = clusterDefaults;
      if (this.#chunks.length >= chunksAtOnce || this.#bad.length >= resultLines) await this.#save();
    }
  }

  /** Chunks are noted before they are queued, so that none is queued that a cancel would not find. */
  async #save(): Promise<void> {
    const { ledger } = this.#store;
    const { id } = this.#batch;
    const chunks = this.#chunks;
    const bad = this.#bad;
    this.#chunks = [];
    this.#bad = [];
    const byQueue = new Map<string, NewChunk[]>();
    for (const chunk of chunks) {
      const same = byQueue.get(chunk.queue.queue);
      if (same === undefined) byQueue.set(chunk.queue.queue, [chunk]);
      else same.push(chunk);
    }
    const queues = [...byQueue.values()].flatMap(([first]) => (first === undefined ? [] : [first.queue]));
    await ledger.submitted(
      id,
      queues,
      chunks.map((chunk) => chunk.id),
      this.lines,
    );
    if (bad.length > 0) await ledger.putResults(id, '', '', bad);
    await Promise.all([...byQueue].map(([queue, same]) => this.#enqueue(queue, same)));
    this.#made += chunks.length;
    this.lines += bad.length + chunks.reduce((sum, { data }) => sum + data.lines.length, 0);
    await ledger.submitted(id, [], [], this.lines);
    this.#options.onProgress?.({ id, lines: this.lines });
    await this.#stopIfCancelled();
  }

  async #enqueue(queue: string, chunks: readonly NewChunk[]): Promise<void> {
    const { priority } = this.#batch.plan;
    const jobs = chunks.map(({ id, data, queue: { shard } }) => ({
      name: 'chunk',
      data,
      opts: {
        jobId: id,
        // Another try stands behind the other chunks, where the lines of a shard must keep their order.
        attempts: shard === undefined ? clusterDefaults.chunkAttempts : 1,
        backoff: { type: 'fixed', delay: clusterDefaults.delayMs },
        ...(priority > 0 && { priority }),
      },
    }));
    await this.#store.patiently(() => this.#store.queue(queue).addBulk(jobs));
  }

  async #stopIfCancelled(): Promise<void> {
    const now = await this.#store.ledger.batch(this.#batch.id);
    if (now === undefined)
      throw new BulkheadError('CANCELLED', `batch "${this.#batch.id}" was removed while it was submitted`);
    if (now.state !== 'cancelled') return;
    // The cancel has not seen the last chunks.
    await settleBatch(this.#store, now);
    throw cancelled(this.#batch.id);
  }
}

function cancelled(id: string): BulkheadError {
  return new BulkheadError('CANCELLED', `batch "${id}" was cancelled; nothing more can be submitted to it`);
}

/** The store went away or is full: says what of the work is safe, and how to go on. */
function withRemedy(error: unknown, id: string, lines: number): unknown {
  if (!(error instanceof BulkheadError) || error.code === 'CANCELLED' || error.code === 'BAD_INPUT')
    return error;
  const saved = lines === 0 ? 'Nothing is submitted yet' : `${lines} lines are submitted`;
  return new BulkheadError(
    error.code,
    `${error.message}. ${saved} (batch "${id}"); submit the same file again to the same batch to add the rest`,
    { cause: error, data: { batch: id, lines } },
  );
}
