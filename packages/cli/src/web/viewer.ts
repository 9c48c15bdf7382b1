/**
 * One open page: what it has not been told yet. A status that comes before the last one was taken replaces it, and of
 * events only so many wait, so a browser that sleeps costs nothing.
 */
import type { ControlEvent, StatusReport } from '@bulkhead/runtime/control/client';
import type { Sample } from './history.js';

const QUEUED = 256;

/** Everything that a page shows, for one that has just come. */
export interface Whole {
  events: readonly ControlEvent[];
  samples: readonly Sample[];
}

export interface Look {
  report: StatusReport;
  sample: Sample;
}

export type News =
  | { event: 'whole'; data: Whole }
  | { event: 'look'; data: Look }
  | { event: 'happened'; data: ControlEvent }
  | { event: 'gone'; data: { message: string } };

export class Viewer {
  #whole: (() => Whole) | undefined;
  #look: Look | undefined;
  #gone: string | undefined;
  #events: ControlEvent[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;

  /** What is told starts anew with `whole`. */
  restart(whole: () => Whole): void {
    this.#whole = whole;
    this.#events = [];
    this.#wake?.();
  }

  look(look: Look): void {
    this.#look = look;
    this.#gone = undefined;
    this.#wake?.();
  }

  happened(event: ControlEvent): void {
    // What waits as a whole is read when it is taken, and has this one too.
    if (this.#whole !== undefined) return;
    this.#events.push(event);
    if (this.#events.length > QUEUED) this.#events.shift();
    this.#wake?.();
  }

  gone(message: string): void {
    this.#gone = message;
    this.#look = undefined;
    this.#wake?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  /** What there is to tell, `quiet` after `quietMs` without any, undefined once closed. */
  async next(quietMs: number): Promise<News | 'quiet' | undefined> {
    if (!this.#isClosed && !this.#hasNews()) await this.#something(quietMs);
    return this.#isClosed ? undefined : (this.#take() ?? 'quiet');
  }

  #hasNews(): boolean {
    const waiting = [this.#whole, this.#look, this.#gone];
    return this.#events.length > 0 || waiting.some((one) => one !== undefined);
  }

  #take(): News | undefined {
    const [whole, gone, look] = [this.#whole, this.#gone, this.#look];
    if (whole !== undefined) {
      this.#whole = undefined;
      return { event: 'whole', data: whole() };
    }
    const happened = this.#events.shift();
    if (happened !== undefined) return { event: 'happened', data: happened };
    if (gone !== undefined) {
      this.#gone = undefined;
      return { event: 'gone', data: { message: gone } };
    }
    this.#look = undefined;
    return look === undefined ? undefined : { event: 'look', data: look };
  }

  #something(quietMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, quietMs);
      this.#wake = done;
    });
  }
}
