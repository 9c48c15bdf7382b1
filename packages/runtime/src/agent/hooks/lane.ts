/**
 * The queue of one observer. Each has its own, so one that hangs delays nobody else; it is bounded, so one that is too
 * slow loses notices (counted, said once per jam) and costs no memory.
 */
import pLimit, { type LimitFunction } from 'p-limit';

export interface LaneLimits {
  /** Notices that may wait. */
  queueMax: number;
  queueMaxBytes: number;
}

export class Lane {
  readonly #limit: LimitFunction;
  readonly #limits: LaneLimits;
  readonly #open = new Set<Promise<void>>();
  #waitingBytes = 0;
  #jammed = false;
  dropped = 0;

  constructor(overlap: number, limits: LaneLimits) {
    this.#limit = pLimit(overlap);
    this.#limits = limits;
  }

  /**
   * Runs the job when its turn comes. `job` must not reject.
   * @returns `jam` for the first notice that finds no room since there was some.
   */
  offer(bytes: number, job: () => Promise<void>): 'taken' | 'dropped' | 'jam' {
    const { queueMax, queueMaxBytes } = this.#limits;
    if (this.#limit.pendingCount >= queueMax || this.#waitingBytes + bytes > queueMaxBytes) {
      this.dropped++;
      if (this.#jammed) return 'dropped';
      this.#jammed = true;
      return 'jam';
    }
    this.#jammed = false;
    this.#waitingBytes += bytes;
    const run = this.#limit(() => {
      this.#waitingBytes -= bytes;
      return job();
    }).finally(() => this.#open.delete(run));
    this.#open.add(run);
    return 'taken';
  }

  /** Notices that wait or run. */
  get open(): number {
    return this.#open.size;
  }

  /** Resolves when nothing waits or runs. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}
