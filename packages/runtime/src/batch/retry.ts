/**
 * Which ends of a call are worth another try, after how long, and the lines that wait for theirs.
 */
import type { BulkheadError, ErrorCode, Outcome } from '@bulkhead/workers';
import type { Item } from './router.js';

/** How often a line is tried again, and after which ends. */
export interface RetryOptions {
  /** Further tries of one line. */
  times: number;
  /** Also ends after which the call may have run, of lines that are not `idempotent`. Default false. */
  unsafe?: boolean;
}

/** The first pause, doubled from try to try up to the longest; each is shortened by up to a quarter. In ms. */
const FIRST_MS = 200;
const LONGEST_MS = 10_000;
const JITTER = 0.25;

/** Ends that another try may change. A result that was too large is too large again. */
const WORTH_IT: ReadonlySet<Outcome> = new Set([
  'tool_error',
  'timeout',
  'connection_lost',
  'outcome_unknown',
  'protocol_error',
]);

/** It took its server down before. */
const HARMFUL: ReadonlySet<ErrorCode> = new Set(['POISON_CALL']);

/** Whether a call that ended so may be made again. `error` is undefined for an answer with `isError`. */
export function mayRetry(
  outcome: Outcome,
  error: BulkheadError | undefined,
  { idempotent, unsafe }: { idempotent: boolean; unsafe: boolean },
): boolean {
  if (error?.retryable === true) return true; // it certainly never ran
  if (error !== undefined && HARMFUL.has(error.code)) return false;
  return WORTH_IT.has(outcome) && (idempotent || unsafe);
}

/** Pause before try number `attempt` + 1, in ms. `random` is in [0, 1). */
export function pauseMs(attempt: number, random: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1)) * (1 - JITTER * random);
}

/** Lines between two tries. */
export class RetryDesk {
  readonly #options: RetryOptions;
  readonly #again: (item: Item) => void;
  readonly #timers = new Map<Item, NodeJS.Timeout>();

  constructor(options: RetryOptions, again: (item: Item) => void) {
    this.#options = options;
    this.#again = again;
  }

  get size(): number {
    return this.#timers.size;
  }

  /** Takes the line for another try; false when there is none. */
  takes(item: Item, outcome: Outcome, error: BulkheadError | undefined): boolean {
    const { times, unsafe = false } = this.#options;
    if (item.retries >= times) return false;
    if (!mayRetry(outcome, error, { idempotent: item.call.idempotent, unsafe })) return false;
    item.retries++;
    const { retryAfterMs } = error?.data ?? {};
    const asked = typeof retryAfterMs === 'number' ? retryAfterMs : 0;
    const timer = setTimeout(
      () => {
        this.#timers.delete(item);
        this.#again(item);
      },
      Math.max(asked, pauseMs(item.retries, Math.random())),
    );
    this.#timers.set(item, timer);
    return true;
  }

  /** Gives up the lines that wait. */
  stop(): Item[] {
    const items = [...this.#timers.keys()];
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    return items;
  }
}
