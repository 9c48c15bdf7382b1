/** How one call of a run is given up: by the run's end, or by its own time limit, and at once in either case. */
import { BulkheadError, MAX_TIMER_MS } from '@bulkhead/workers';
import { AbortGroup, type AbortMember } from '../abort-group.js';

/** One call's own signal: aborted with the run's, which all parallel calls of the run hear by one listener. */
export class CallAbort implements AbortMember {
  abortBefore: AbortMember | undefined;
  abortBehind: AbortMember | undefined;
  readonly #own = new AbortController();
  readonly #outer: AbortSignal;
  readonly #name: string;
  readonly #group: AbortGroup | undefined;
  readonly #aborted: Promise<never>;
  #timer: NodeJS.Timeout | undefined;

  constructor(outer: AbortSignal, name: string) {
    this.#outer = outer;
    this.#name = name;
    const { signal } = this.#own;
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.#aborted.catch(() => {});
    if (outer.aborted) {
      this.aborted();
      return;
    }
    this.#group = AbortGroup.of(outer);
    this.#group.add(this);
  }

  aborted(): void {
    this.#own.abort(cancelled(this.#name, this.#outer));
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  limit(ms: number): void {
    this.#timer = setTimeout(
      () => {
        const message = `${this.#name} gave no answer within ${ms} ms and was given up; it may still be running`;
        this.#own.abort(new BulkheadError('TIMEOUT', message, { tool: this.#name }));
      },
      Math.min(ms, MAX_TIMER_MS),
    );
  }

  /** What comes too late is nobody's any more. */
  race<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    return Promise.race([this.#aborted, work]);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#group?.remove(this);
  }
}

export function cancelled(name: string, { reason }: AbortSignal): BulkheadError {
  if (reason instanceof BulkheadError) return reason;
  return new BulkheadError('CANCELLED', `${name} was cancelled before it had answered`, {
    tool: name,
    cause: reason,
  });
}
