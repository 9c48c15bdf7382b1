/**
 * Runs a batch: lines in, calls to many servers at once, lines out. Memory stays constant, because reading stops
 * while too much is held and starting stops while the output is full.
 */
import { BulkheadError, type Outcome } from '@bulkhead/workers';
import { Calls } from './calls.js';
import { InputReader } from './input.js';
import { GivenBack } from './journal.js';
import type { InputLine } from './lines.js';
import { type BatchOptions, type BatchProgress, type BatchSummary, batchDefaults } from './options.js';
import { type BadLine, bad, parseRecord } from './record.js';
import { errorLine, type LineHead } from './reply.js';
import { type Item, Router } from './router.js';
import type { SpilledLine } from './spilled-line.js';
import { Tally } from './tally.js';
import { LineWriter } from './write.js';

/**
 * Runs every line of `input` as a tool call and writes one line each to `output`. Never rejects for a bad line, a bad
 * server, a broken input or a broken output: the summary tells.
 */
export function runBatch(options: BatchOptions): Promise<BatchSummary> {
  return new BatchRun(options).run();
}

class BatchRun {
  readonly #options: BatchOptions;
  readonly #limits: Record<keyof typeof batchDefaults, number>;
  readonly #router: Router;
  readonly #writer: LineWriter;
  readonly #input: InputReader;
  readonly #calls: Calls;
  readonly #tally = new Tally();
  readonly #abort = new AbortController();
  readonly #over: Promise<void>;
  #end: () => void = () => {};
  readonly #startedAt = performance.now();
  #lines = 0;
  #skipped = 0;
  #heldBytes = 0;
  #doneBytes = 0;
  #notStarted = 0;
  #inputEnded = false;
  /** Nothing is started any more. */
  #halted = false;
  #stopped: BatchSummary['stopped'];
  #cause: Error | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#over = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#limits = { ...batchDefaults, ...options.limits };
    this.#router = new Router({
      runtime: options.runtime,
      slots: Math.max(1, options.concurrency ?? this.#limits.concurrency),
      connectTimeoutMs: options.connectTimeoutMs,
      windows: options.windows ?? new Map(),
      rates: options.dryRun === true ? new Map() : (options.rates ?? new Map()),
      unavailable: options.unavailable ?? new Map(),
      refuse: (item, error) => this.#calls.refuse(item, error),
      onChange: () => this.#pump(),
    });
    this.#calls = new Calls({
      batch: options,
      router: this.#router,
      signal: this.#abort.signal,
      maxStarts: this.#limits.maxStarts,
      write: (item, text, outcome, callMs) => this.#write(item, text, outcome, callMs),
      onChange: () => this.#pump(),
      onHeld: (reason, isUnwritten) => {
        if (reason instanceof GivenBack) this.#halt('interrupted');
        else this.#halt('output-failed', reason);
        if (isUnwritten) this.#notStarted++;
        this.#pump();
      },
    });
    this.#writer = new LineWriter(options.output, {
      ordered: options.ordered ?? false,
      bufferBytes: this.#limits.outputBufferBytes,
      onRoom: () => this.#pump(),
      onFailure: (error) => this.#halt('output-failed', error),
    });
    this.#input = new InputReader({
      input: options.input,
      maxLineBytes: this.#limits.maxLineBytes,
      hasRoom: () => this.#hasRoom(),
      onLines: (lines) => {
        for (const line of lines) this.#accept(line);
        this.#pump();
      },
    });
  }

  async run(): Promise<BatchSummary> {
    const { signal, callSignal, onProgress } = this.#options;
    const before = await this.#restarts();
    const interrupt = (): void => this.#halt('interrupted');
    const cut = (): void => this.#abort.abort();
    const ticker = setInterval(() => onProgress?.(this.#progress()), this.#limits.progressEveryMs);
    ticker.unref();
    signal?.addEventListener('abort', interrupt, { once: true });
    callSignal?.addEventListener('abort', cut, { once: true });
    try {
      if (signal?.aborted === true) interrupt();
      if (callSignal?.aborted === true) cut();
      const failure = await this.#input.read();
      this.#inputEnded = true;
      this.#router.inputEnded();
      if (failure !== undefined && this.#stopped === undefined) {
        this.#stopped = 'input-failed';
        this.#cause = failure;
      }
      this.#pump();
      await this.#over;
      if (this.#halted) await this.#letEarlyGo();
      await this.#writer.flushed();
    } finally {
      clearInterval(ticker);
      clearTimeout(this.#grace);
      signal?.removeEventListener('abort', interrupt);
      callSignal?.removeEventListener('abort', cut);
      this.#router.close();
    }
    const after = await this.#restarts();
    for (const [server, count] of after) after.set(server, count - (before.get(server) ?? 0));
    onProgress?.(this.#progress());
    return this.#summary(after);
  }

  #accept({ line, text, problem, bytes }: InputLine): void {
    if (this.#halted) return;
    const fate = this.#options.journal?.fate(line);
    if (fate?.is === 'done') {
      this.#skipped++;
      this.#doneBytes += bytes;
      return;
    }
    const seq = this.#lines++;
    if (fate?.is === 'kept') {
      this.#put(seq, fate.text, fate.head.server, fate.head.outcome, bytes);
      return;
    }
    const record = text === undefined ? bad(problem ?? 'unreadable') : parseRecord(text);
    const head: LineHead = { id: record.id, line, server: record.server, tool: record.tool };
    if (record.kind === 'bad') {
      this.#refuseLine(seq, head, record, bytes);
      return;
    }
    if (fate?.is === 'unknown' && !record.idempotent) {
      const text = errorLine(head, unknownFate(line), { attempts: 1, queueMs: 0, callMs: 0 });
      this.#put(seq, text, head.server, 'outcome_unknown', bytes);
      return;
    }
    this.#heldBytes += bytes;
    this.#router.route({
      seq,
      head,
      call: record,
      readAt: performance.now(),
      bytes,
      starts: 0,
      retries: 0,
      attempts: 0,
      lastEnd: undefined,
    });
  }

  #refuseLine(seq: number, head: LineHead, { problem }: BadLine, bytes: number): void {
    const error = new BulkheadError('BAD_INPUT', `line ${head.line}: ${problem}`);
    this.#tally.badInput++;
    this.#put(seq, this.#calls.refusal(head, error), undefined, 'rejected', bytes);
  }

  #pump(): void {
    while (!this.#halted && !this.#writer.blocked) {
      // Too many finished lines wait for an earlier one: only that one may start now.
      const crowded = this.#writer.earlyChars > this.#limits.readAheadBytes;
      const next = this.#router.next(crowded ? this.#writer.nextSeq : undefined);
      if (next === undefined) break;
      this.#calls.start(next.item, next.view);
    }
    this.#input.roomMayHaveCome();
    const nothingLeft = this.#halted || this.#waiting === 0;
    if (this.#inputEnded && nothingLeft && this.#router.inFlight === 0) this.#end();
  }

  /** Lines that are read, but neither started nor done. */
  get #waiting(): number {
    return this.#router.waiting + this.#calls.waiting;
  }

  #write(item: Item, text: string | SpilledLine, outcome: Outcome, callMs: number | undefined): void {
    this.#heldBytes -= item.bytes;
    this.#put(item.seq, text, item.head.server, outcome, item.bytes, callMs);
    this.#router.ended(item);
    this.#options.journal?.ended?.(item.head.line);
  }

  #put(
    seq: number,
    text: string | SpilledLine,
    server: string | undefined,
    outcome: Outcome,
    bytes: number,
    callMs?: number,
  ): void {
    this.#doneBytes += bytes;
    this.#tally.add(server, outcome, callMs);
    this.#writer.put(seq, text);
    if (outcome !== 'ok' && this.#options.failFast === true && !this.#halted) this.#halt('failed-fast');
  }

  #halt(stopped: NonNullable<BatchSummary['stopped']>, cause?: Error): void {
    if (this.#stopped === 'output-failed') return;
    this.#stopped = stopped;
    this.#cause = cause;
    if (!this.#halted) {
      this.#halted = true;
      this.#calls.stop();
      this.#notStarted = this.#router.waiting;
      this.#input.stop();
    }
    const graceMs = stopped === 'output-failed' ? 0 : this.#limits.graceMs;
    clearTimeout(this.#grace);
    this.#grace = setTimeout(() => this.#abort.abort(), graceMs);
    this.#pump();
  }

  /** Lines are missing now. Those that wait for one are written, or kept for a run that will have it. */
  async #letEarlyGo(): Promise<void> {
    const { ordered, journal } = this.#options;
    if (ordered === true && journal?.keep !== undefined) {
      await journal.keep(this.#writer.takeEarly()).catch((error: Error) => {
        this.#cause ??= error;
      });
    }
    this.#writer.releaseAll();
  }

  #hasRoom(): boolean {
    const written = this.#options.ordered === true ? this.#writer.nextSeq : this.#tally.done;
    return (
      this.#lines - written < this.#limits.readAheadLines &&
      this.#heldBytes < this.#limits.readAheadBytes &&
      !this.#writer.blocked
    );
  }

  async #restarts(): Promise<Map<string, number>> {
    const status = await this.#options.runtime.status().catch(() => undefined);
    return new Map(status?.servers.map(({ name, restarts }) => [name, restarts]));
  }

  #progress(): BatchProgress {
    return {
      lines: this.#lines,
      done: this.#tally.done,
      failed: this.#tally.done - this.#tally.ok,
      inFlight: this.#router.inFlight,
      waiting: this.#waiting,
      doneBytes: this.#doneBytes,
      inputEnded: this.#inputEnded,
    };
  }

  #summary(restarts: ReadonlyMap<string, number>): BatchSummary {
    return {
      lines: this.#lines,
      skipped: this.#skipped,
      done: this.#tally.done,
      ok: this.#tally.ok,
      badInput: this.#tally.badInput,
      notStarted: this.#notStarted,
      outcomes: this.#tally.outcomes(),
      servers: this.#tally.servers(restarts),
      noServerStarted: this.#router.noneStarted,
      stopped: this.#stopped,
      cause: this.#cause,
      tookMs: performance.now() - this.#startedAt,
    };
  }
}

function unknownFate(line: number): BulkheadError {
  return new BulkheadError(
    'OUTCOME_UNKNOWN',
    `line ${line}: an earlier run of this batch ended after it had started the call and before it wrote an answer, ` +
      'so the tool may have run. Look whether it did; lines with "idempotent": true are run again',
  );
}
