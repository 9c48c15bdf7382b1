/**
 * The events of a runtime for clients of its control socket: the latest are kept, and each client has a queue of its
 * own that holds only so many. A client that reads too slowly loses the oldest, and is told how many.
 */
import type { RuntimeApi, RuntimeEvents } from '../api.js';
import type { ControlEvent } from './protocol.js';

const RECENT = 256;
const QUEUED = 1_000;

const names = [
  'state',
  'tools',
  'log',
  'resource',
  'resources',
  'prompts',
  'saturated',
  'drain',
  'supervisor-lost',
] as const satisfies readonly (keyof RuntimeEvents)[];

/** What `next()` gives while nothing happens. */
export const QUIET = 'quiet';

export class EventFeed {
  readonly #runtime: RuntimeApi;
  readonly #recent: ControlEvent[] = [];
  readonly #clients = new Set<FeedClient>();
  readonly #off: (() => void)[] = [];
  readonly #late: NodeJS.Immediate;

  constructor(runtime: RuntimeApi) {
    this.#runtime = runtime;
    for (const name of names) this.#listen(name);
    // Early warnings go to the first listener, which should be the program's own: it comes right after the start.
    this.#late = setImmediate(() => this.#listen('warning'));
  }

  /** @param recent how many of the latest events come first. */
  open(recent: number): FeedClient {
    const client = new FeedClient(recent === 0 ? [] : this.#recent.slice(-recent), () =>
      this.#clients.delete(client),
    );
    this.#clients.add(client);
    return client;
  }

  stop(): void {
    clearImmediate(this.#late);
    for (const off of this.#off.splice(0)) off();
    for (const client of [...this.#clients]) client.close();
  }

  #listen(name: keyof RuntimeEvents): void {
    const listener = (data: object) => {
      const event = { at: new Date().toISOString(), event: name, data: { ...data } };
      this.#recent.push(event);
      if (this.#recent.length > RECENT) this.#recent.shift();
      for (const client of this.#clients) client.push(event);
    };
    this.#runtime.on(name, listener);
    this.#off.push(() => this.#runtime.off(name, listener));
  }
}

export class FeedClient {
  readonly #queue: ControlEvent[];
  readonly #left: () => void;
  #dropped = 0;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(recent: ControlEvent[], left: () => void) {
    this.#queue = recent;
    this.#left = left;
  }

  push(event: ControlEvent): void {
    this.#queue.push(event);
    if (this.#queue.length > QUEUED) {
      this.#queue.shift();
      this.#dropped++;
    }
    this.#wake?.();
  }

  /** What is there now. */
  takeAll(): ControlEvent[] {
    return this.#queue.splice(0);
  }

  /** The next event, {@link QUIET} after `quietMs` without one, undefined once closed and empty. */
  async next(quietMs: number): Promise<ControlEvent | typeof QUIET | undefined> {
    if (this.#dropped > 0) {
      const data = { count: this.#dropped };
      this.#dropped = 0;
      return { at: new Date().toISOString(), event: 'dropped', data };
    }
    if (this.#queue.length === 0 && !this.#closed) await this.#something(quietMs);
    return this.#queue.shift() ?? (this.#closed ? undefined : QUIET);
  }

  close(): void {
    this.#closed = true;
    this.#left();
    this.#wake?.();
  }

  #something(quietMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, quietMs);
      const wake = () => done();
      this.#wake = wake;
      const client = this;
      function done(): void {
        clearTimeout(timer);
        client.#wake = undefined;
        resolve();
      }
    });
  }
}
