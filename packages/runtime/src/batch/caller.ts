/** Sends the call of a line: with the limits it has, and not before the journal, where there is one, knows of it. */
import { BulkheadError } from '@bulkhead/workers';
import type { CallOptions, ToolResult } from '../api.js';
import { trustedRawArguments } from '../call.js';
import { type CallJournal, GivenBack } from './journal.js';
import type { BatchServer } from './options.js';
import type { Item } from './router.js';

/** The call was not sent, because it could not be noted that it would be. */
export class JournalFailure extends Error {
  override readonly name = 'JournalFailure';
}

export interface CallerOptions {
  signal: AbortSignal;
  timeoutMs: number | undefined;
  journal: CallJournal | undefined;
  idempotencyKey: ((line: number) => string) | undefined;
}

/** Where in a request's `_meta` its idempotency key stands. */
export const IDEMPOTENCY_KEY = 'io.github.bulkhead/idempotencyKey';

export class Caller {
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** Rejects as `callTool` does, or with {@link JournalFailure} or {@link GivenBack}. */
  call(item: Item, view: BatchServer): Promise<ToolResult> {
    const { journal } = this.#options;
    if (journal === undefined) return this.#send(item, view);
    return journal.start(item.head.line).then(
      () => this.#send(item, view),
      (error: unknown) => {
        throw refusal(journal, error);
      },
    );
  }

  #send({ call, head }: Item, view: BatchServer): Promise<ToolResult> {
    const options: CallOptions = {
      signal: this.#options.signal,
      route: 'batch',
      idempotent: call.idempotent,
    };
    const timeoutMs = call.timeoutMs ?? this.#options.timeoutMs;
    // A limit that a person gave is the whole time a call may take: progress does not stretch it.
    if (timeoutMs !== undefined) Object.assign(options, { timeoutMs, maxMs: timeoutMs });
    const key = this.#options.idempotencyKey?.(head.line);
    if (key !== undefined) options.meta = { [IDEMPOTENCY_KEY]: key };
    return view.callTool(head.tool ?? '', trustedRawArguments(call.arguments), options);
  }
}

function refusal(journal: CallJournal, error: unknown): unknown {
  if (error instanceof GivenBack) return error;
  if (error instanceof BulkheadError) {
    const { code, message, data, retryable } = error;
    return new BulkheadError(code, message, { data: { ...data, attempts: 0 }, retryable, cause: error });
  }
  return new JournalFailure(`"${journal.path}" cannot be written: ${(error as Error).message}`);
}
