/**
 * The fields an entry may have: their forms and ranges as a zod shape. One table, which the docs quote. Messages say
 * what was expected and which kind of value came, never the text of the value, which may be a secret. Pure.
 */

import { MAX_TIMER_MS, type ServerOptions } from '@bulkhead/workers';
import { z } from 'zod';
import { authSchema } from './auth.js';
import { parseDuration } from './duration.js';
import { kindOf } from './entry.js';

/** Smallest and largest value of each option, both included. */
export const optionRanges = {
  startupTimeoutMs: { unit: 'duration', min: 1, max: MAX_TIMER_MS },
  callTimeoutMs: { unit: 'duration', min: 1, max: MAX_TIMER_MS },
  callMaxMs: { unit: 'duration', min: 1, max: MAX_TIMER_MS },
  window: { unit: 'count', min: 1, max: 65_536 },
  queueMax: { unit: 'count', min: 0, max: 1_000_000 },
  queueMaxBytes: { unit: 'count', min: 0, max: 4 * 1024 ** 3 },
  askTimeoutMs: { unit: 'duration', min: 1, max: MAX_TIMER_MS },
  // V8 holds no string longer than about 512 MiB, and a message becomes one.
  maxMessageBytes: { unit: 'count', min: 1_024, max: 512 * 1024 ** 2 - 1_024 },
  spillBytes: { unit: 'count', min: 0, max: 512 * 1024 ** 2 },
  logMaxBytes: { unit: 'count', min: 4_096, max: 4 * 1024 ** 3 },
} as const satisfies Record<keyof ServerOptions, Range>;

interface Range {
  unit: 'duration' | 'count';
  min: number;
  max: number;
}

type Issue = { readonly input?: unknown };
const expected = (what: string) => (issue: Issue) => `expected ${what}, got ${kindOf(issue.input)}`;

const text = z.string({ error: expected('a string') });
/** Ports and flags are often written bare: `"PORT": 8080` means the text 8080. */
const looseText = z
  .union([z.string(), z.number(), z.boolean()], { error: expected('a string') })
  .transform(String);
const looseTextOrNull = z
  .union([z.string(), z.number(), z.boolean(), z.null()], {
    error: expected('a string, or null to remove it'),
  })
  .transform((value) => (value === null ? null : String(value)));
const flag = z.boolean({ error: expected('true or false') });

function ranged({ unit, min, max }: Range) {
  return z.unknown().transform((value, context) => {
    try {
      const number = unit === 'duration' ? durationOf(value) : countOf(value);
      if (number >= min && number <= max) return number;
      const ms = unit === 'duration' ? ' ms' : '';
      throw new TypeError(
        `expected ${min} to ${max}${ms}, got ${typeof value === 'string' ? `"${value}"` : value}`,
      );
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  });
}

function durationOf(value: unknown): number {
  if (typeof value === 'number' || typeof value === 'string') return parseDuration(value);
  throw new TypeError(`expected a duration such as 5000 or "5s", got ${kindOf(value)}`);
}

function countOf(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new TypeError(`expected a whole number, got ${kindOf(value)}`);
}

/** Options of {@link ServerOptions} that an entry may set. */
const optionShape = {
  startupTimeoutMs: ranged(optionRanges.startupTimeoutMs).optional(),
  callTimeoutMs: ranged(optionRanges.callTimeoutMs).optional(),
  callMaxMs: ranged(optionRanges.callMaxMs).optional(),
  window: ranged(optionRanges.window).optional(),
  queueMax: ranged(optionRanges.queueMax).optional(),
  queueMaxBytes: ranged(optionRanges.queueMaxBytes).optional(),
  askTimeoutMs: ranged(optionRanges.askTimeoutMs).optional(),
  maxMessageBytes: ranged(optionRanges.maxMessageBytes).optional(),
  spillBytes: ranged(optionRanges.spillBytes).optional(),
  logMaxBytes: ranged(optionRanges.logMaxBytes).optional(),
};

const shape = {
  type: text.optional(),
  transport: text.optional(),
  command: text.optional(),
  args: z.array(looseText, { error: expected('an array of strings') }).optional(),
  env: z.map(z.string(), looseTextOrNull, { error: expected('an object of strings') }).optional(),
  cwd: text.optional(),
  inheritEnv: flag.optional(),
  url: text.optional(),
  headers: z.map(z.string(), looseText, { error: expected('an object of strings') }).optional(),
  headersHelper: text.optional(),
  auth: authSchema.optional(),
  ...optionShape,
  timeout: ranged(optionRanges.callTimeoutMs).optional(),
  lifecycle: z.enum(['eager', 'lazy'], { error: expected('"eager" or "lazy"') }).optional(),
  idleStopMs: ranged({ unit: 'duration', min: 0, max: MAX_TIMER_MS }).optional(),
  protocol: z
    .enum(['auto', 'legacy', '2026-07-28'], { error: expected('"auto", "legacy" or "2026-07-28"') })
    .optional(),
  trust: flag.optional(),
  confidential: flag.optional(),
  disabled: flag.optional(),
  enabled: flag.optional(),
};
export const entrySchema = z.object(shape);
export type Fields = z.infer<typeof entrySchema>;

/** Every key an entry may have. */
export const entryKeys: readonly string[] = Object.keys(shape);
export const optionKeys = Object.keys(optionShape) as (keyof ServerOptions)[];
