/**
 * SIGINT, SIGTERM and SIGHUP. The first asks the command to end in good order, the second to end at once; the exit
 * status is that of the first.
 */

const statusOf = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type Caught = keyof typeof statusOf;

/** After the second signal nothing may hold the program longer than this. */
const KILL_MS = 500;

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export class Interrupt {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  #exitCode: number | undefined;

  listen(): void {
    for (const name of Object.keys(statusOf) as Caught[]) process.on(name, this.#caught);
  }

  dispose(): void {
    for (const name of Object.keys(statusOf) as Caught[]) process.off(name, this.#caught);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborted by the second signal. */
  get kill(): AbortSignal {
    return this.#second.signal;
  }

  /** 130, 143 or 129 once a signal came. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Waits for `work`, but rejects with {@link Interrupted} as soon as the first signal comes. */
  async race<T>(work: Promise<T>): Promise<T> {
    let stop = (): void => {};
    const interrupted = new Promise<never>((_, reject) => {
      stop = () => reject(new Interrupted('interrupted'));
      if (this.signal.aborted) stop();
      this.signal.addEventListener('abort', stop, { once: true });
    });
    try {
      return await Promise.race([work, interrupted]);
    } finally {
      this.signal.removeEventListener('abort', stop);
    }
  }

  readonly #caught = (name: Caught): void => {
    if (this.#exitCode === undefined) {
      this.#exitCode = statusOf[name];
      this.#first.abort();
      return;
    }
    const code = this.#exitCode;
    this.#second.abort();
    setTimeout(() => process.exit(code), KILL_MS).unref();
  };
}
