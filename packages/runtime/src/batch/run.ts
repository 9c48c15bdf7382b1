/**
 * Runs a batch: lines in, calls to many servers at once, lines out. Memory stays constant, because reading stops
 * while too much is held and starting stops while the output is full.
 */
import { BulkheadError, encodeError, type Outcome } from '@bulkhead/workers';
import type { CallOptions, ToolResult } from '../api.js';
import { trustedRawArguments } from '../call.js';
import { InputReader } from './input.js';
import type { InputLine } from './lines.js';
import {
  type BatchOptions,
  type BatchProgress,
  type BatchServer,
  type BatchSummary,
  batchDefaults,
} from './options.js';
import { type BadLine, bad, parseRecord } from './record.js';
import { attemptsOf, errorLine, type LineHead, resultLine } from './reply.js';
import { type Item, Router } from './router.js';
import type { SpilledLine } from './spilled-line.js';
import { Tally } from './tally.js';
import { LineWriter } from './write.js';

/** Unsent calls end with one of these; they may be started again. */
const UNSENT = new Set(['NOT_READY', 'CONNECTION_LOST']);

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
  readonly #tally = new Tally();
  readonly #abort = new AbortController();
  readonly #ended: Promise<void>;
  #end: () => void = () => {};
  readonly #startedAt = performance.now();
  #lines = 0;
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
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#limits = { ...batchDefaults, ...options.limits };
    this.#router = new Router({
      runtime: options.runtime,
      slots: Math.max(1, options.concurrency ?? this.#limits.concurrency),
      connectTimeoutMs: options.connectTimeoutMs,
      windows: options.windows ?? new Map(),
      unavailable: options.unavailable ?? new Map(),
      refuse: (item, error) => this.#refuse(item, error),
      onChange: () => this.#pump(),
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
    const { signal, onProgress } = this.#options;
    const before = await this.#restarts();
    const interrupt = (): void => this.#halt('interrupted');
    const ticker = setInterval(() => onProgress?.(this.#progress()), this.#limits.progressEveryMs);
    ticker.unref();
    signal?.addEventListener('abort', interrupt, { once: true });
    try {
      if (signal?.aborted === true) interrupt();
      const failure = await this.#input.read();
      this.#inputEnded = true;
      this.#router.inputEnded();
      if (failure !== undefined && this.#stopped === undefined) {
        this.#stopped = 'input-failed';
        this.#cause = failure;
      }
      this.#pump();
      await this.#ended;
      if (this.#halted) this.#writer.releaseAll();
      await this.#writer.flushed();
    } finally {
      clearInterval(ticker);
      clearTimeout(this.#grace);
      signal?.removeEventListener('abort', interrupt);
      this.#router.close();
    }
    const after = await this.#restarts();
    for (const [server, count] of after) after.set(server, count - (before.get(server) ?? 0));
    onProgress?.(this.#progress());
    return this.#summary(after);
  }

  #accept({ line, text, problem, bytes }: InputLine): void {
    if (this.#halted) return;
    const seq = this.#lines++;
    const record = text === undefined ? bad(problem ?? 'unreadable') : parseRecord(text);
    const head: LineHead = { id: record.id, line, server: record.server, tool: record.tool };
    if (record.kind === 'bad') {
      this.#refuseLine(seq, head, record, bytes);
      return;
    }
    this.#heldBytes += bytes;
    this.#router.route({ seq, head, call: record, readAt: performance.now(), bytes, starts: 0 });
  }

  #refuseLine(seq: number, head: LineHead, { problem }: BadLine, bytes: number): void {
    const error = {
      code: 'BAD_INPUT',
      message: `line ${head.line}: ${problem}`,
      outcome: 'rejected',
    } as const;
    this.#doneBytes += bytes;
    this.#tally.badInput++;
    this.#tally.add(undefined, 'rejected', undefined);
    this.#writer.put(seq, errorLine(head, error, { attempts: 0, queueMs: 0, callMs: 0 }));
  }

  #pump(): void {
    while (!this.#halted && !this.#writer.blocked) {
      // Too many finished lines wait for an earlier one: only that one may start now.
      const crowded = this.#writer.earlyChars > this.#limits.readAheadBytes;
      const next = this.#router.next(crowded ? this.#writer.nextSeq : undefined);
      if (next === undefined) break;
      this.#start(next.item, next.view);
    }
    this.#input.roomMayHaveCome();
    const nothingLeft = this.#halted || this.#router.waiting === 0;
    if (this.#inputEnded && nothingLeft && this.#router.inFlight === 0) this.#end();
  }

  #start(item: Item, view: BatchServer): void {
    const startedAt = performance.now();
    item.starts++;
    const options: CallOptions = {
      signal: this.#abort.signal,
      route: 'batch',
      idempotent: item.call.idempotent,
    };
    const timeoutMs = item.call.timeoutMs ?? this.#options.timeoutMs;
    // A limit that a person gave is the whole time a call may take: progress does not stretch it.
    if (timeoutMs !== undefined) Object.assign(options, { timeoutMs, maxMs: timeoutMs });
    view.callTool(item.head.tool ?? '', trustedRawArguments(item.call.arguments), options).then(
      (result) => this.#answered(item, result, startedAt),
      (error: unknown) => this.#failed(item, error, startedAt),
    );
  }

  #answered(item: Item, result: ToolResult, startedAt: number): void {
    this.#router.done(item);
    const text = resultLine(item.head, result, startedAt - item.readAt);
    this.#write(item, text, result.outcome, result.timing.callMs);
    this.#pump();
  }

  #failed(item: Item, cause: unknown, startedAt: number): void {
    const error = cause instanceof BulkheadError ? cause : internal(cause);
    if (UNSENT.has(error.code) && item.starts < this.#limits.maxStarts && !this.#halted) {
      this.#router.unsent(item);
    } else {
      this.#router.done(item);
      const facts = {
        attempts: attemptsOf(error),
        queueMs: startedAt - item.readAt,
        callMs: performance.now() - startedAt,
      };
      this.#write(item, errorLine(item.head, error, facts), error.outcome, undefined);
    }
    this.#pump();
  }

  /** Ends a line whose call never started. */
  #refuse(item: Item, error: BulkheadError): void {
    const facts = { attempts: 0, queueMs: performance.now() - item.readAt, callMs: 0 };
    this.#write(item, errorLine(item.head, error, facts), error.outcome, undefined);
  }

  #write(item: Item, text: string | SpilledLine, outcome: Outcome, callMs: number | undefined): void {
    this.#heldBytes -= item.bytes;
    this.#doneBytes += item.bytes;
    this.#tally.add(item.head.server, outcome, callMs);
    this.#writer.put(item.seq, text);
  }

  #halt(stopped: NonNullable<BatchSummary['stopped']>, cause?: Error): void {
    if (this.#stopped === 'output-failed') return;
    this.#stopped = stopped;
    this.#cause = cause;
    if (!this.#halted) {
      this.#halted = true;
      this.#notStarted = this.#router.waiting;
      this.#input.stop();
    }
    const graceMs = stopped === 'interrupted' ? this.#limits.graceMs : 0;
    clearTimeout(this.#grace);
    this.#grace = setTimeout(() => this.#abort.abort(), graceMs);
    this.#pump();
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
      waiting: this.#router.waiting,
      doneBytes: this.#doneBytes,
      inputEnded: this.#inputEnded,
    };
  }

  #summary(restarts: ReadonlyMap<string, number>): BatchSummary {
    return {
      lines: this.#lines,
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

function internal(cause: unknown): BulkheadError {
  return new BulkheadError('INTERNAL', encodeError(cause).message, { cause });
}
