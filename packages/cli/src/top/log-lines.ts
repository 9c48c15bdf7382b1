/** The latest lines of one server's stderr, kept up while somebody looks at them. A flood keeps only its end. */
import type { ControlClient } from '@bulkhead/runtime/control/client';
import { harmless } from '../foreign-text.js';

const KEPT = 500;
/** A flood without line ends is shown in lines of at most so many characters. */
const LONGEST = 4_000;

export class LogLines {
  readonly server: string;
  readonly #stop = new AbortController();
  readonly #changed: () => void;
  #lines: string[] | undefined;
  #rest = '';

  /** @param connect a client whose requests end with the signal. */
  constructor(server: string, connect: (signal: AbortSignal) => ControlClient, changed: () => void) {
    this.server = server;
    this.#changed = changed;
    void this.#follow(connect(this.#stop.signal));
  }

  /** Undefined until the first answer. */
  get lines(): readonly string[] | undefined {
    return this.#lines === undefined || this.#rest === '' ? this.#lines : [...this.#lines, this.#rest];
  }

  close(): void {
    this.#stop.abort();
  }

  async #follow(client: ControlClient): Promise<void> {
    const decoder = new TextDecoder();
    try {
      // An empty log sends nothing at all.
      await client.health();
      this.#take('');
      for await (const bytes of client.logs(this.server, { lines: 100, follow: true }))
        this.#take(decoder.decode(bytes, { stream: true }));
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#take(`\n(${(error as Error).message})\n`);
    }
  }

  #take(text: string): void {
    const parts = harmless(this.#rest + text).split('\n');
    this.#rest = (parts.pop() ?? '').slice(-LONGEST);
    this.#lines = [...(this.#lines ?? []), ...parts.map((line) => line.slice(0, LONGEST))].slice(-KEPT);
    if (!this.#stop.signal.aborted) this.#changed();
  }
}
