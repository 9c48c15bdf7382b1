/** The plan of a batch: what a submitter may say about it, checked, and the defaults of what is left open. Pure. */
import { BulkheadError } from '@bulkhead/workers';
import { z } from 'zod';
import { clusterDefaults } from './defaults.js';
import type { BatchPlan } from './ledger.js';

const MOST_LINES = 10_000;
/** BullMQ's largest number. */
const LAST_PRIORITY = 2_097_152;
const MOST_SHARDS = 1_024;

const perServer = z.record(z.string(), z.number().positive());

const planSchema = z.strictObject({
  chunkLines: z.number().int().min(1).max(MOST_LINES).default(clusterDefaults.chunkLines),
  priority: z.number().int().min(0).max(LAST_PRIORITY).default(clusterDefaults.priority),
  attempts: z.number().int().min(1).default(clusterDefaults.attempts),
  timeoutMs: z.number().positive().optional(),
  windows: z.record(z.string(), z.number().int().min(1)).default({}),
  rates: perServer.default({}),
  shards: z.number().int().min(1).max(MOST_SHARDS).default(clusterDefaults.shards),
  maxUnreadBytes: z.number().positive().default(clusterDefaults.maxUnreadBytes),
});

/** @throws {BulkheadError} `BAD_INPUT` naming the field. */
export function planOf(given: Partial<BatchPlan> = {}): BatchPlan {
  const parsed = planSchema.safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const field = issue === undefined || issue.path.length === 0 ? 'the plan' : `\`${issue.path.join('.')}\``;
    throw new BulkheadError('BAD_INPUT', `Plan of the batch: ${field}: ${issue?.message ?? 'not valid'}`);
  }
  const { timeoutMs, ...plan } = parsed.data;
  return timeoutMs === undefined ? plan : { ...plan, timeoutMs };
}
