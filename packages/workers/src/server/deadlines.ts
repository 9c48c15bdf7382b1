/**
 * One timer for the earliest of many deadlines. The calls in flight are at most a window, so whoever owns them scans them
 * when it fires: cheaper than keeping a wheel in order for every call.
 */
import { now } from '../clock.js';
import { MAX_TIMER_MS } from '../defaults.js';

export class Deadlines {
  readonly #expire: (at: number) => void;
  readonly #shift: (passedMs: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /** 0 while deadlines run. */
  #pausedAt = 0;

  /**
   * @param expire some deadline may be over; arms the next one.
   * @param shift deadlines stood still for so long; moves them and arms the earliest.
   */
  constructor(expire: (at: number) => void, shift: (passedMs: number) => void) {
    this.#expire = expire;
    this.#shift = shift;
  }

  /** Process clock, ms; later than what is armed already changes nothing. */
  arm(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#fire(), Math.min(Math.max(1, at - now()), MAX_TIMER_MS));
    this.#timer.unref();
  }

  /** Deadlines stand still from here … */
  pause(): void {
    this.#pausedAt = now();
  }

  /** … to here. */
  resume(): void {
    const passedMs = now() - this.#pausedAt;
    this.#pausedAt = 0;
    this.#shift(passedMs);
  }

  #fire(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (this.#pausedAt === 0) this.#expire(now()); // else armed again when it resumes
  }
}
