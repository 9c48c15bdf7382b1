/** The options of `bulkhead submit` as a plan that every worker follows. Pure. */
import type { BatchPlan } from '@bulkhead/cluster';
import { parseRate } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers/errors';
import { type CommonOptions, count, time, usageError } from '../context.js';
import { size } from './sizes.js';

export interface PlanOptions extends CommonOptions {
  priority?: string;
  attempts?: string;
  perServer?: string[];
  rate?: string[];
  chunk?: string;
  shards?: string;
  maxUnread?: string;
}

const MOST_PRIORITY = 2_097_152;
const MOST_TRIES = 1_000;
const MOST_IN_FLIGHT = 100_000;
const MOST_LINES = 10_000;
const MOST_SHARDS = 1_024;
/** Names in place of a server for every other one. */
const OTHERS = '*';

/** What was given, and nothing else. @throws {BulkheadError} `BAD_INPUT` naming the option. */
export function planOf(options: PlanOptions): Partial<BatchPlan> {
  const { priority, perServer, rate } = options;
  const plan: Partial<BatchPlan> = {};
  if (priority !== undefined) {
    plan.priority = priority === '0' ? 0 : (count('--priority', priority, MOST_PRIORITY) ?? 0);
  }
  const attempts = count('--attempts', options.attempts, MOST_TRIES);
  if (attempts !== undefined) plan.attempts = attempts;
  const timeoutMs = time('--timeout', options.timeout);
  if (timeoutMs !== undefined) plan.timeoutMs = timeoutMs;
  const chunkLines = count('--chunk', options.chunk, MOST_LINES);
  if (chunkLines !== undefined) plan.chunkLines = chunkLines;
  const shards = count('--shards', options.shards, MOST_SHARDS);
  if (shards !== undefined) plan.shards = shards;
  const maxUnreadBytes = size('--max-unread', options.maxUnread);
  if (maxUnreadBytes !== undefined) plan.maxUnreadBytes = maxUnreadBytes;
  if (perServer !== undefined) plan.windows = Object.fromEntries(perServer.map(windowEntry));
  if (rate !== undefined) plan.rates = Object.fromEntries(rate.map(rateEntry));
  return plan;
}

function windowEntry(text: string): [server: string, most: number] {
  const equals = text.lastIndexOf('=');
  if (equals === 0) throw usageError(`--per-server: expected 8, or search=8 for one server, got "${text}"`);
  const most = count('--per-server', text.slice(equals + 1), MOST_IN_FLIGHT) ?? 1;
  return [equals === -1 ? OTHERS : text.slice(0, equals), most];
}

function rateEntry(text: string): [server: string, perSecond: number] {
  try {
    const { server = OTHERS, perSecond } = parseRate(text);
    return [server, perSecond];
  } catch (error) {
    throw error instanceof BulkheadError ? usageError(`--rate: ${error.message}`) : error;
  }
}
