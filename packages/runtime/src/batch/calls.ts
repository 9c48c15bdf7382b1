/**
 * The life of a line's call: sent, answered or lost, tried again, and ended with one output line. In a dry run its
 * arguments are checked instead.
 */
import { BulkheadError, encodeError, type Outcome } from '@bulkhead/workers';
import type { ToolResult } from '../api.js';
import { ArgumentCheck } from './argument-check.js';
import { Caller, JournalFailure } from './caller.js';
import { GivenBack } from './journal.js';
import type { BatchOptions, BatchServer } from './options.js';
import { attemptsOf, checkedLine, errorLine, type LineHead, resultLine } from './reply.js';
import { RetryDesk } from './retry.js';
import type { Item, Router } from './router.js';
import type { SpilledLine } from './spilled-line.js';

/** Unsent calls end with one of these; they may be started again. */
const UNSENT = new Set(['NOT_READY', 'CONNECTION_LOST']);

/** What the calls of a batch need of it. */
export interface CallsOptions {
  batch: BatchOptions;
  router: Router;
  signal: AbortSignal;
  /** Starts of one call that never reached its server before the loss is written. */
  maxStarts: number;
  /** Takes the end of a line. */
  write: (item: Item, text: string | SpilledLine, outcome: Outcome, callMs: number | undefined) => void;
  /** A slot is free, or a line is back. */
  onChange: () => void;
  /** The call was not sent and must not be, nor any other: the journal says so, or is broken. */
  onHeld: (reason: JournalFailure | GivenBack, isUnwritten: boolean) => void;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #router: Router;
  readonly #write: CallsOptions['write'];
  readonly #onChange: () => void;
  readonly #caller: Caller;
  readonly #check: ArgumentCheck | undefined;
  readonly #retries: RetryDesk | undefined;
  #isStopped = false;

  constructor(options: CallsOptions) {
    const { batch, router, signal, onChange } = options;
    const { journal, retry, timeoutMs, idempotencyKey } = batch;
    this.#options = options;
    this.#router = router;
    this.#write = options.write;
    this.#onChange = onChange;
    this.#caller = new Caller({ signal, timeoutMs, journal, idempotencyKey });
    if (batch.dryRun === true) this.#check = new ArgumentCheck(batch.runtime);
    if (retry === undefined) return;
    this.#retries = new RetryDesk(retry, (item) => {
      router.again(item);
      onChange();
    });
  }

  /** Lines between two tries. */
  get waiting(): number {
    return this.#retries?.size ?? 0;
  }

  start(item: Item, view: BatchServer): void {
    const startedAt = performance.now();
    const failed = (error: unknown): void => this.#failed(item, error, startedAt);
    if (this.#check !== undefined) {
      this.#check.check(item).then(({ text, outcome }) => this.#checked(item, text, outcome), failed);
      return;
    }
    item.starts++;
    this.#caller.call(item, view).then((result) => this.#answered(item, result, startedAt), failed);
  }

  /** No further tries: lines that wait for one end as their last one did. */
  stop(): void {
    this.#isStopped = true;
    if (this.#retries === undefined) return;
    for (const { lastEnd } of [...this.#retries.stop(), ...this.#router.takeRetried()]) lastEnd?.();
  }

  /** Ends a line whose call never started, or not once more. */
  refuse(item: Item, error: BulkheadError): void {
    if (item.lastEnd !== undefined) {
      item.lastEnd();
      return;
    }
    if (this.#isGivenBack(item, error)) {
      this.#options.onHeld(new GivenBack(), true);
      return;
    }
    const text = this.refusal(item.head, error, performance.now() - item.readAt);
    this.#write(item, text, error.outcome, undefined);
  }

  /** Output line of an input line that was not called. */
  refusal(head: LineHead, error: BulkheadError, queueMs = 0): string {
    if (this.#check !== undefined) return checkedLine(head, { error });
    return errorLine(head, error, { attempts: 0, queueMs, callMs: 0 });
  }

  #checked(item: Item, text: string, outcome: Outcome): void {
    this.#router.done(item);
    this.#write(item, text, outcome, undefined);
    this.#onChange();
  }

  #answered(item: Item, result: ToolResult, startedAt: number): void {
    const { outcome, attempts, timing } = result;
    const text = resultLine(item.head, result, startedAt - item.readAt, item.attempts);
    this.#router.done(item);
    if (outcome === 'ok' || this.#retries === undefined) {
      this.#write(item, text, outcome, timing.callMs);
    } else {
      const end = (): void => this.#write(item, text, outcome, timing.callMs);
      if (!this.#triesAgain(item, outcome, undefined, attempts, end)) end();
    }
    this.#onChange();
  }

  #failed(item: Item, cause: unknown, startedAt: number): void {
    if (cause instanceof JournalFailure || cause instanceof GivenBack) {
      this.#router.done(item);
      item.lastEnd?.();
      this.#options.onHeld(cause, item.lastEnd === undefined);
      return;
    }
    const error = cause instanceof BulkheadError ? cause : internal(cause);
    if (UNSENT.has(error.code) && item.starts < this.#options.maxStarts && !this.#isStopped) {
      this.#router.unsent(item);
    } else if (attemptsOf(error) === 0 && item.lastEnd === undefined && this.#isGivenBack(item, error)) {
      this.#router.done(item);
      this.#options.onHeld(new GivenBack(), true);
      return;
    } else {
      const attempts = attemptsOf(error);
      const facts = {
        attempts: attempts + item.attempts,
        queueMs: startedAt - item.readAt,
        callMs: performance.now() - startedAt,
      };
      const text = errorLine(item.head, error, facts);
      // A try that was never sent says nothing about the one before, which was.
      const earlier = attempts === 0 && item.attempts > 0 ? item.lastEnd : undefined;
      const end = earlier ?? ((): void => this.#write(item, text, error.outcome, undefined));
      this.#router.done(item);
      if (!this.#triesAgain(item, error.outcome, error, attempts, end)) end();
    }
    this.#onChange();
  }

  #isGivenBack({ head }: Item, error: BulkheadError): boolean {
    return this.#options.batch.journal?.unsent?.(head.line, error) === true;
  }

  /** False: this was the line's end. */
  #triesAgain(
    item: Item,
    outcome: Outcome,
    error: BulkheadError | undefined,
    attempts: number,
    end: () => void,
  ): boolean {
    if (this.#isStopped || this.#retries?.takes(item, outcome, error) !== true) return false;
    item.attempts += attempts;
    item.starts = 0;
    item.lastEnd = end;
    return true;
  }
}

function internal(cause: unknown): BulkheadError {
  return new BulkheadError('INTERNAL', encodeError(cause).message, { cause });
}
