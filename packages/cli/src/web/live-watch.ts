/**
 * Looks at a runtime over its control socket for all open pages at once: its status once a second, its events as they
 * come. A resident that goes away is waited for; one of the same name that comes up is taken.
 */
import { setTimeout as wait } from 'node:timers/promises';
import {
  ControlClient,
  type ControlEntry,
  type ControlEvent,
  readEntry,
} from '@bulkhead/runtime/control/client';
import { History } from './history.js';
import { type Look, Viewer } from './viewer.js';

const EVERY_MS = 1_000;
const RECENT = 256;

export class LiveWatch {
  readonly #name: string;
  readonly #end = new AbortController();
  readonly #viewers = new Set<Viewer>();
  readonly #history = new History();
  readonly #loops: Promise<void>[];
  #entry: ControlEntry;
  #events: ControlEvent[] = [];
  #latest: Look | undefined;
  #gone: string | undefined;
  #hurry: (() => void) | undefined;

  constructor(entry: ControlEntry) {
    this.#entry = entry;
    this.#name = entry.name;
    this.#loops = [this.#lookOn(), this.#listen()];
  }

  /** @param signal ends what is asked; default the end of the watch. */
  client(signal: AbortSignal = this.#end.signal): ControlClient {
    return new ControlClient(this.#entry, { signal: AbortSignal.any([signal, this.#end.signal]) });
  }

  /** Give it back with {@link leave}. */
  enter(): Viewer {
    const viewer = new Viewer();
    this.#viewers.add(viewer);
    this.#tellAll(viewer);
    return viewer;
  }

  leave(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    viewer.close();
  }

  /** Looks at once: something was changed. */
  hurry(): void {
    this.#hurry?.();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    for (const viewer of [...this.#viewers]) this.leave(viewer);
    await Promise.all(this.#loops);
  }

  async #lookOn(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        const report = await this.client().status();
        this.#latest = { report, sample: this.#history.add(report, Date.now()) };
        this.#gone = undefined;
        for (const viewer of this.#viewers) viewer.look(this.#latest);
      } catch (error) {
        if (!signal.aborted) this.#lost((error as Error).message);
      }
      await this.#pause();
    }
  }

  #lost(message: string): void {
    this.#latest = undefined;
    this.#gone = message;
    for (const viewer of this.#viewers) viewer.gone(message);
    try {
      this.#entry = readEntry(this.#name) ?? this.#entry;
    } catch {
      // A directory that somebody tampered with: the next question says so.
    }
  }

  async #listen(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      this.#events = [];
      try {
        let isFirst = true;
        for await (const event of this.client().events({ recent: RECENT, follow: true })) {
          if (isFirst) for (const viewer of this.#viewers) this.#tellAll(viewer);
          isFirst = false;
          this.#events.push(event);
          if (this.#events.length > RECENT) this.#events.shift();
          for (const viewer of this.#viewers) viewer.happened(event);
        }
      } catch {
        // The other loop tells it.
      }
      await wait(EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  #tellAll(viewer: Viewer): void {
    viewer.restart(() => ({ events: this.#events, samples: this.#history.samples }));
    if (this.#latest !== undefined) viewer.look(this.#latest);
    else if (this.#gone !== undefined) viewer.gone(this.#gone);
  }

  #pause(): Promise<void> {
    const { signal } = this.#end;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#hurry = undefined;
        resolve();
      };
      const timer = setTimeout(done, EVERY_MS);
      this.#hurry = done;
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }
}
