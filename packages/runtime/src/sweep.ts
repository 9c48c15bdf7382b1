/**
 * The agent's one timer: while calls are pending it looks for those that are overdue here, and keeps the thread alive.
 * A program that awaits a call must not run out of events; an idle one may end.
 */
import { now } from '@bulkhead/workers';

export class Sweep {
  readonly #everyMs: number;
  readonly #look: (at: number) => void;
  #pending = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number, look: (at: number) => void) {
    this.#everyMs = everyMs;
    this.#look = look;
  }

  /** One more or one less call is pending. */
  count(by: 1 | -1): void {
    this.#pending += by;
    if (this.#pending === 1 && by === 1) {
      this.#timer ??= setInterval(() => this.#look(now()), this.#everyMs);
      this.#timer.ref();
    } else if (this.#pending === 0) {
      this.#timer?.unref();
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
