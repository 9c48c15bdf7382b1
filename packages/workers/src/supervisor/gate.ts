/**
 * The start gate: how many servers may be starting at the same time. First starts go before retries, but a retry is let
 * through at least at every fourth entry, so a long list of servers does not starve one that failed. Pure.
 */

export type StartPriority = 'first' | 'retry';

/** Gives the slot back. Safe to call more than once. */
export type Release = () => void;

interface Waiter {
  admit: () => void;
}

/** Entries in a row that may pass a waiting retry. */
const FIRSTS_IN_A_ROW = 3;

export class StartGate {
  /**
   * How long a start may keep its slot while it waits for a slow handshake, in ms. The gate has no timer: the caller
   * releases at the handshake or after this time, whichever comes first.
   */
  readonly holdMs: number;
  readonly #slots: number;
  readonly #firsts = new Set<Waiter>();
  readonly #retries = new Set<Waiter>();
  #taken = 0;
  #firstsInARow = 0;

  /** @param options `slots`: whole number, at least 1 (smaller values count as 1). */
  constructor(options: { slots: number; holdMs: number }) {
    this.#slots = Math.max(1, Math.floor(options.slots) || 1);
    this.holdMs = options.holdMs;
  }

  /** Slots that are held now. */
  get taken(): number {
    return this.#taken;
  }

  /** Starts that wait for a slot. */
  get waiting(): number {
    return this.#firsts.size + this.#retries.size;
  }

  /**
   * Waits for a slot, in order of arrival within each priority. An abort while waiting rejects with the signal's
   * reason and leaves nothing behind; once the slot is given, only the release ends it.
   */
  enter(priority: StartPriority, signal?: AbortSignal): Promise<Release> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    // A free slot means an empty queue: every release hands its slot on.
    if (this.#taken < this.#slots) return Promise.resolve(this.#take());
    const queue = priority === 'first' ? this.#firsts : this.#retries;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        queue.delete(waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        admit: () => {
          signal?.removeEventListener('abort', giveUp);
          resolve(this.#take());
        },
      };
      queue.add(waiter);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  #take(): Release {
    this.#taken++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#taken--;
      this.#next()?.admit();
    };
  }

  /** Takes the next waiter off its queue. */
  #next(): Waiter | undefined {
    const retryTurn = this.#firsts.size === 0 || this.#firstsInARow >= FIRSTS_IN_A_ROW;
    const queue = retryTurn && this.#retries.size > 0 ? this.#retries : this.#firsts;
    // Only entries that pass a waiting retry count.
    this.#firstsInARow = queue === this.#firsts && this.#retries.size > 0 ? this.#firstsInARow + 1 : 0;
    const [waiter] = queue;
    if (waiter !== undefined) queue.delete(waiter);
    return waiter;
  }
}
