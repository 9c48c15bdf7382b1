/**
 * Collects the results of a batch: page after page from the store to a file or a stream, each line once. In a file they are
 * safe before the store lets go of them, and a collector that was killed is continued by another with the same file.
 */
import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { resultHead } from '@bulkhead/runtime/batch';
import { BulkheadError } from '@bulkhead/workers';
import { clusterDefaults } from './defaults.js';
import type { BatchRecord, ResultPage } from './ledger.js';
import { fileSink, type ResultSink, streamSink } from './result-output.js';
import { settleBatch } from './settle.js';
import { batchOf, isFinished } from './status.js';
import type { Store } from './store.js';

/** Enough of nearly every line to see its number. */
const GLANCE_CHARS = 512;

/** Where results go, and how long they are waited for. */
export interface ResultsOptions {
  /** Path of a file, which is continued if it is there, or a stream, which is not ended. */
  output: string | Writable;
  /** Wait for further results until the batch has all. Default false: what is there now. */
  follow?: boolean;
  /** Leave the results in the store for another collector. Default false for a file; a stream always leaves them. */
  keep?: boolean;
  /** Aborting ends it after the page in hand. */
  signal?: AbortSignal;
  /** Called after each page. */
  onProgress?: (progress: ResultsProgress) => void;
}

/** How far a collector is. */
export interface ResultsProgress {
  /** Lines written by this collector. */
  written: number;
  /** Lines that the output has now. */
  have: number;
  batch: BatchRecord;
}

/** What a collector ended with. */
export interface ResultsReport extends ResultsProgress {
  /** The batch is over, and the output has the result of every line. */
  complete: boolean;
  /** Where an earlier collector put results that this output does not have. */
  elsewhere: { lines: number; to: string } | undefined;
}

/** @throws {BulkheadError} `BAD_INPUT` no such batch, or the file is something else; the store's errors. */
export async function collect(store: Store, id: string, options: ResultsOptions): Promise<ResultsReport> {
  const { collected } = await batchOf(store, id);
  const { output } = options;
  const sink = typeof output === 'string' ? await fileSink(output) : streamSink(output);
  try {
    return await new Collector(store, id, options, sink, collected).run();
  } finally {
    await sink.close();
  }
}

class Collector {
  readonly #store: Store;
  readonly #id: string;
  readonly #options: ResultsOptions;
  readonly #sink: ResultSink;
  readonly #before: BatchRecord['collected'];
  #written = 0;
  #cursor: string | undefined;
  readonly #owner = randomUUID();
  #nextSettling = 0;
  #held = 0;

  /** @param before What others had collected when this one began. */
  constructor(
    store: Store,
    id: string,
    options: ResultsOptions,
    sink: ResultSink,
    before: BatchRecord['collected'],
  ) {
    this.#before = before;
    this.#store = store;
    this.#id = id;
    this.#options = options;
    this.#sink = sink;
  }

  async run(): Promise<ResultsReport> {
    await this.#takeLease();
    try {
      await this.#sink.begin();
      return await this.#collect();
    } finally {
      const lease = this.#lease;
      if (lease !== undefined) await this.#store.ledger.release(lease, this.#owner).catch(() => {});
    }
  }

  async #collect(): Promise<ResultsReport> {
    const { follow = false, signal, onProgress } = this.#options;
    for (;;) {
      await this.#renewLease();
      // The record before the page: a batch that is finished here has all its results in the pages that follow.
      const batch = await this.#look();
      const page = await this.#store.ledger.results(this.#id, this.#cursor, clusterDefaults.pageBytes);
      if (page.lines.length > 0) {
        await this.#take(page);
        onProgress?.({ written: this.#written, have: this.#sink.lines.size, batch });
      }
      const isOver = page.lines.length === 0 && (!follow || (isFinished(batch) && this.#held === 0));
      if (isOver || signal?.aborted === true) return this.#report(batch);
      if (page.lines.length === 0) await wait(clusterDefaults.pollMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Two collectors that append to one file would write lines twice. */
  get #lease(): string | undefined {
    const { place } = this.#sink;
    if (place === undefined) return undefined;
    return `collect-${createHash('sha256').update(`${hostname()}\n${place}`).digest('hex')}`;
  }

  /** The lease of a collector that was killed ends by itself. */
  async #takeLease(): Promise<void> {
    const end = performance.now() + clusterDefaults.leaseMs + clusterDefaults.pollMs;
    while (!(await this.#hasLease())) {
      if (performance.now() > end) this.#refuse();
      await wait(clusterDefaults.pollMs);
    }
  }

  async #renewLease(): Promise<void> {
    if (!(await this.#hasLease())) this.#refuse();
  }

  async #hasLease(): Promise<boolean> {
    const lease = this.#lease;
    return lease === undefined || this.#store.ledger.lease(lease, this.#owner, clusterDefaults.leaseMs);
  }

  #refuse(): never {
    throw new BulkheadError(
      'BAD_INPUT',
      `another collector is writing to "${this.#sink.place}"; end it, or name another output`,
    );
  }

  /** Reads the record, and now and then sees to lines that nobody will run. */
  async #look(): Promise<BatchRecord> {
    const batch = await batchOf(this.#store, this.#id);
    const now = performance.now();
    if (now < this.#nextSettling || (isFinished(batch) && this.#held === 0 && this.#nextSettling > 0))
      return batch;
    this.#nextSettling = now + clusterDefaults.settleEveryMs;
    const { lines, held } = await settleBatch(this.#store, batch);
    this.#held = held;
    return lines > 0 ? batchOf(this.#store, this.#id) : batch;
  }

  async #take({ lines, cursor }: ResultPage): Promise<void> {
    let text = '';
    for (const entry of lines) {
      if (typeof entry === 'string') {
        if (this.#isNew(entry)) text += `${entry}\n`;
      } else if (this.#sink.lines.add(entry.line)) {
        await this.#sink.write(text);
        text = '';
        for await (const piece of this.#store.ledger.blob(this.#id, entry.blob))
          await this.#sink.write(piece);
        text = '\n';
        this.#written++;
      }
    }
    await this.#sink.write(text);
    this.#cursor = cursor;
    const { place } = this.#sink;
    if (place === undefined || this.#options.keep === true) return;
    await this.#sink.sync();
    await this.#store.ledger.collected(this.#id, cursor, place);
  }

  #isNew(text: string): boolean {
    const head = resultHead(Buffer.from(text.slice(0, GLANCE_CHARS))) ?? resultHead(Buffer.from(text));
    if (head === undefined)
      throw new BulkheadError('INTERNAL', `batch "${this.#id}" holds a result that is none`);
    if (!this.#sink.lines.add(head.line)) return false;
    this.#written++;
    return true;
  }

  #report(batch: BatchRecord): ResultsReport {
    const have = this.#sink.lines.size;
    const before = this.#before;
    const isElsewhere = before !== undefined && before.to !== this.#sink.place && have < batch.answered;
    return {
      written: this.#written,
      have,
      batch,
      complete: isFinished(batch) && have >= batch.answered,
      elsewhere: isElsewhere ? before : undefined,
    };
  }
}
