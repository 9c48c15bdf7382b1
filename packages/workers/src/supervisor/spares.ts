/**
 * Spare threads: code loaded, no server yet. The next start takes one instead of booting its own. They are made one
 * by one in quiet moments after a server became ready, and given up at once when memory is short or the host closes.
 */
import { IdleThread, type ThreadOptions } from './thread.js';

/** A host that starts, calls once and ends is not to pay for a spare. */
const QUIET_MS = 1_000;
/** With less than this left for the process, no memory is put aside. */
const SPARE_MIN_BYTES = 256 * 1024 * 1024;

export interface SpareOptions {
  /** How many wait at most; 0 turns spares off. */
  count: number;
  terminateGraceMs: number;
  /** Whether a server is starting now. */
  busy: () => boolean;
}

export class Spares {
  readonly #thread: Omit<ThreadOptions, 'warm'>;
  readonly #options: SpareOptions;
  readonly #waiting = new Set<IdleThread>();
  readonly #ending: Promise<boolean>[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(thread: Omit<ThreadOptions, 'warm'>, options: SpareOptions) {
    this.#thread = thread;
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** A thread for a server: a spare (it may still be booting, but is ahead of a new one), else a new one. */
  thread(): IdleThread {
    const [spare] = this.#waiting;
    if (spare === undefined) return new IdleThread({ ...this.#thread, warm: false });
    this.#waiting.delete(spare);
    return spare;
  }

  /** To be called when a server became ready: makes what is missing, later. */
  refill(): void {
    if (this.#closed || this.#timer !== undefined || this.#waiting.size >= this.#options.count) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#options.busy()) this.refill();
      else if (process.availableMemory() >= SPARE_MIN_BYTES) this.#add();
    }, QUIET_MS);
    this.#timer.unref();
  }

  /** Gives up what waits: memory is short. The next server that becomes ready begins anew. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const spare of this.#waiting) this.#ending.push(spare.terminate(this.#options.terminateGraceMs));
    this.#waiting.clear();
  }

  /** Ends all of them, for good. Resolves with the number of threads that did not end in time. */
  async close(): Promise<number> {
    this.#closed = true;
    this.drop();
    const ended = await Promise.all(this.#ending);
    return ended.filter((gone) => !gone).length;
  }

  #add(): void {
    let spare: IdleThread;
    try {
      spare = new IdleThread({ ...this.#thread, warm: true });
    } catch {
      return; // the system gives no further thread: a start will say so, a spare need not
    }
    spare.worker.unref();
    this.#waiting.add(spare);
    // One that dies is not followed by another before a server is ready again: it may die of what it loads.
    void spare.ended.then(() => this.#waiting.delete(spare));
    spare.online().then(
      () => this.refill(),
      () => {},
    );
  }
}
