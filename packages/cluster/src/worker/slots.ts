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

  /** Undefined: taken at once. */
  take(): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
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

  /** Undefined: taken at once. The server's own comes first: whoever waits for it holds nothing that others need. */
  take(server: string): Promise<void> | undefined {
    const own = this.#server(server).take();
    if (own !== undefined) return own.then(() => this.#takeAny());
    const any = this.#all.take();
    if (any === undefined) this.#taken++;
    else return any.then(() => void this.#taken++);
    return undefined;
  }

  release(server: string): void {
    this.#taken--;
    this.#all.release();
    this.#server(server).release();
  }

  async #takeAny(): Promise<void> {
    await this.#all.take();
    this.#taken++;
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
