/** The options of `bulkhead batch` that say how fast and how often: `--per-server`, `--rate`, `--retry`. */
import { parseRate, type RetryOptions } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers/errors';
import { count, usageError } from '../context.js';

export interface PacingOptions {
  perServer?: string;
  rate?: string[];
  retry?: string;
  retryUnsafe?: boolean;
}

export interface Pacing {
  /** Calls in flight per server; infinite when not given. */
  perServer: number;
  /** As `runBatch()` takes them. */
  rates: ReadonlyMap<string, number>;
  retry: RetryOptions | undefined;
}

const MOST_IN_FLIGHT = 100_000;
const MOST_TRIES = 1_000;

/** @throws {BulkheadError} `BAD_INPUT` naming the option. */
export function pacing({ perServer, rate, retry, retryUnsafe }: PacingOptions): Pacing {
  const times = count('--retry', retry, MOST_TRIES);
  if (times === undefined && retryUnsafe === true) throw usageError('--retry-unsafe needs --retry <n>');
  return {
    perServer: count('--per-server', perServer, MOST_IN_FLIGHT) ?? Number.POSITIVE_INFINITY,
    rates: new Map((rate ?? []).map(rateEntry)),
    retry: times === undefined ? undefined : { times, unsafe: retryUnsafe === true },
  };
}

function rateEntry(text: string): [server: string, perSecond: number] {
  try {
    const { server = '*', perSecond } = parseRate(text);
    return [server, perSecond];
  } catch (error) {
    throw error instanceof BulkheadError ? usageError(`--rate: ${error.message}`) : error;
  }
}
