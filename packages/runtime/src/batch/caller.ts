/** Sends the call of a line: with the limits it has, and not before the journal, where there is one, knows of it. */
import type { CallOptions, ToolResult } from '../api.js';
import { trustedRawArguments } from '../call.js';
import type { BatchJournal } from './journal.js';
import type { BatchServer } from './options.js';
import type { Item } from './router.js';

/** The call was not sent, because it could not be noted that it would be. */
export class JournalFailure extends Error {
  override readonly name = 'JournalFailure';
}

export interface CallerOptions {
  signal: AbortSignal;
  timeoutMs: number | undefined;
  journal: BatchJournal | undefined;
}

export class Caller {
  readonly #options: CallerOptions;
  /** Calls that start in one turn share one write of the journal. */
  #noting: Promise<void> | undefined;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** Rejects as `callTool` does, or with {@link JournalFailure}. */
  call(item: Item, view: BatchServer): Promise<ToolResult> {
    const { journal } = this.#options;
    if (journal === undefined) return this.#send(item, view);
    return this.#noted(journal, item.head.line).then(() => this.#send(item, view));
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
    return view.callTool(head.tool ?? '', trustedRawArguments(call.arguments), options);
  }

  #noted(journal: BatchJournal, line: number): Promise<void> {
    journal.start(line);
    this.#noting ??= Promise.resolve().then(() => {
      this.#noting = undefined;
      try {
        journal.flush();
      } catch (error) {
        throw new JournalFailure(`"${journal.path}" cannot be written: ${(error as Error).message}`);
      }
    });
    return this.#noting;
  }
}
