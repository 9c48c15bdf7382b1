/**
 * How long work waits for a Redis that went away. The client itself connects again for ever and keeps what was asked of it;
 * here those who do not want to wait so long are let go.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { Redis } from 'ioredis';
import { redisError } from './redis-errors.js';

export class RedisPatience {
  readonly #place: string;
  readonly #patienceMs: number;
  readonly #waiting = new Set<(error: Error) => void>();
  #timer: NodeJS.Timeout | undefined;
  #cause: Error = new Error('the connection was closed');
  #isOver = false;

  constructor(client: Redis, place: string, patienceMs: number) {
    this.#place = place;
    this.#patienceMs = patienceMs;
    client.on('error', (error: Error) => {
      this.#cause = error;
    });
    client.on('close', () => this.#lost());
    client.on('ready', () => this.#back());
  }

  async run<T>(work: Promise<T>): Promise<T> {
    let giveUp: (error: Error) => void = () => {};
    const limit = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    this.#waiting.add(giveUp);
    if (this.#isOver) giveUp(this.#error());
    try {
      return await Promise.race([work, limit]);
    } catch (error) {
      throw redisError(error, this.#place);
    } finally {
      this.#waiting.delete(giveUp);
    }
  }

  /** Lets everybody go; the client is closed after this. */
  end(): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
    this.#cause = new BulkheadError('CLOSED', `the connection to Redis at ${this.#place} was closed here`);
    this.#release();
  }

  #lost(): void {
    if (this.#timer !== undefined || this.#isOver || this.#patienceMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#release();
    }, this.#patienceMs);
  }

  #back(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isOver = false;
  }

  #release(): void {
    for (const giveUp of this.#waiting) giveUp(this.#error());
  }

  #error(): Error {
    return redisError(this.#cause, this.#place);
  }
}
