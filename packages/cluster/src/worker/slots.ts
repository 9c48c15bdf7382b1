/**
 * How many calls of this worker may be in flight at once: of one server, over all its chunks, and of all servers. A call
 * that waits here is not noted as sent, which one that waited in the server's mailbox would be.
 */

/** First come, first served. */
export class Semaphore {
  #free: number;
  #waiting: (() => void)[] = [];
  #head = 0;

  constructor(size: number) {
    this.#free = size;
  }

  /** True: taken at once. False: it is taken later, and that is told. */
  take(whenTaken: () => void): boolean {
    if (this.#free > 0) {
      this.#free--;
      return true;
    }
    this.#waiting.push(whenTaken);
    return false;
  }

  release(): void {
    const next = this.#waiting[this.#head];
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#head++;
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    }
    next();
  }
}

export class Slots {
  readonly #all: Semaphore;
  readonly #servers = new Map<string, Semaphore>();
  readonly #windowOf: (server: string) => number;
  #taken = 0;

  /** @param all Calls in flight over all servers. @param windowOf The same of one server. */
  constructor(all: number, windowOf: (server: string) => number) {
    this.#all = new Semaphore(all);
    this.#windowOf = windowOf;
  }

  get taken(): number {
    return this.#taken;
  }

  /**
   * True: taken at once. False: it is taken later, and that is told. The server's own comes first: whoever waits for it
   * holds nothing that others need.
   */
  take(server: string, whenTaken: () => void): boolean {
    const late = (): void => {
      this.#taken++;
      whenTaken();
    };
    const ownLate = (): void => {
      if (this.#all.take(late)) late();
    };
    if (!this.#server(server).take(ownLate) || !this.#all.take(late)) return false;
    this.#taken++;
    return true;
  }

  release(server: string): void {
    this.#taken--;
    this.#all.release();
    this.#server(server).release();
  }

  #server(server: string): Semaphore {
    let own = this.#servers.get(server);
    if (own === undefined) {
      own = new Semaphore(Math.max(1, this.#windowOf(server)));
      this.#servers.set(server, own);
    }
    return own;
  }
}
