/** Notices that the store does not answer, or refuses to be written, and that it is well again. Each is told once. */

export interface StoreWatchOptions {
  place: string;
  /** Silence that is told, in ms. */
  silentMs: number;
  onWarning: (message: string) => void;
}

const MS_PER_SECOND = 1_000;

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  /** Since when something is wrong that was told. */
  #wrongSince: number | undefined;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
  }

  /** What the store is asked; its end passes through. */
  async follow(question: Promise<void>): Promise<void> {
    const { place, silentMs, onWarning } = this.#options;
    const askedAt = performance.now();
    this.#timer = setTimeout(() => {
      const seconds = Math.round(silentMs / MS_PER_SECOND);
      this.#wrong(askedAt, `the store at ${place} has not answered for ${seconds} s`);
    }, silentMs);
    try {
      await question;
      if (this.#wrongSince === undefined) return;
      const seconds = Math.round((performance.now() - this.#wrongSince) / MS_PER_SECOND);
      this.#wrongSince = undefined;
      onWarning(`the store at ${place} is well again after ${seconds} s; calls go on`);
    } catch (error) {
      this.#wrong(askedAt, (error as Error).message);
      throw error;
    } finally {
      clearTimeout(this.#timer);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #wrong(since: number, what: string): void {
    if (this.#wrongSince !== undefined) return;
    this.#wrongSince = since;
    this.#options.onWarning(`${what}; no further call is sent until it is well again`);
  }
}
