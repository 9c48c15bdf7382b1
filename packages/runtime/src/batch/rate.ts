/** How many calls a second a server may be sent: a token bucket, and the text that sets one. Time is an argument. Pure. */
import { BulkheadError } from '@bulkhead/workers';

/** After a rest a bucket holds the calls of this time: enough to hide a late timer, too little for a burst. */
const BURST_SECONDS = 0.05;
const SECONDS = new Map([
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
]);

export class TokenBucket {
  readonly #perMs: number;
  readonly #capacity: number;
  #tokens: number;
  #at: number;

  /** @param perSecond calls a second, above 0. */
  constructor(perSecond: number, nowMs: number) {
    this.#perMs = perSecond / 1_000;
    this.#capacity = Math.max(1, perSecond * BURST_SECONDS);
    this.#tokens = this.#capacity;
    this.#at = nowMs;
  }

  /** Takes one token; gives how long to wait before the next one may be taken, in ms (0: at once). */
  take(nowMs: number): number {
    this.#tokens = Math.min(this.#capacity, this.#tokens + (nowMs - this.#at) * this.#perMs) - 1;
    this.#at = nowMs;
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#perMs;
  }
}

/** How many calls may start in a second. */
export interface RateSetting {
  /** Undefined: every server that has no rate of its own. */
  server: string | undefined;
  perSecond: number;
}

/**
 * `10/s`, `90/m`, `1000/h`, or the same for one server: `search=10/s`.
 * @throws {BulkheadError} `BAD_INPUT` saying what was expected.
 */
export function parseRate(text: string): RateSetting {
  const equals = text.lastIndexOf('=');
  const found = /^(\d+(?:\.\d+)?)\/(s|m|h)$/.exec(text.slice(equals + 1));
  const perSecond = Number(found?.[1]) / (SECONDS.get(found?.[2] ?? '') ?? 1);
  if (!(perSecond > 0) || equals === 0) {
    throw new BulkheadError(
      'BAD_INPUT',
      `expected a rate such as 10/s, 90/m or 1000/h, for one server search=10/s, got "${text}"`,
    );
  }
  return { server: equals === -1 ? undefined : text.slice(0, equals), perSecond };
}
