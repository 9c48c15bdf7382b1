/** What a request to the control socket may hold, and how a mistake in one is told. */
import { BulkheadError } from '@bulkhead/workers';
import { z } from 'zod';
import type { Offer } from './protocol.js';

const ms = z
  .number()
  .int()
  .min(1)
  .max(2 ** 31 - 1);

export const findRequest = z.strictObject({ target: z.string().min(1), timeoutMs: ms.optional() });

export const readyRequest = z.strictObject({
  servers: z.array(z.string()).optional(),
  timeoutMs: ms.optional(),
});

/** `args` is cut out of the text of the request and goes on as it stands. */
export const callRequest = z
  .strictObject({
    server: z.string().optional(),
    tool: z.string().optional(),
    fullName: z.string().optional(),
    args: z.record(z.string(), z.unknown()).optional(),
    timeoutMs: ms.optional(),
    maxMs: ms.optional(),
    idempotent: z.boolean().optional(),
    /** Check the arguments against the tool's input schema first. */
    validate: z.boolean().optional(),
  })
  .refine(
    ({ server, tool, fullName }) => (fullName === undefined) === (server !== undefined && tool !== undefined),
    {
      message: 'expected either "fullName", or "server" and "tool"',
    },
  );

export const drainRequest = z.strictObject({ timeoutMs: ms.optional() });

export const offerRequest: z.ZodType<Offer> = z.discriminatedUnion('ask', [
  z.strictObject({ ask: z.literal('resources') }),
  z.strictObject({ ask: z.literal('templates') }),
  z.strictObject({ ask: z.literal('read'), uri: z.string() }),
  z.strictObject({ ask: z.literal('prompts') }),
  z.strictObject({
    ask: z.literal('prompt'),
    prompt: z.string(),
    args: z.record(z.string(), z.string()).default({}),
  }),
]);

export const updatesQuery = z.object({ uri: z.string().min(1) });

export const logsQuery = z.object({
  lines: z.coerce.number().int().min(0).max(100_000).default(100),
  follow: z.enum(['0', '1']).default('0'),
});

/** @throws {BulkheadError} `BAD_INPUT` naming the fields. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const found = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `"${path.join('.')}": ${message}`,
  );
  throw new BulkheadError('BAD_INPUT', `the request does not fit: ${found.join('; ')}`);
}

/** @throws {BulkheadError} `BAD_INPUT`. An empty body is an empty object. */
export function parsedBody(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BulkheadError('BAD_INPUT', `the request's body is not JSON: ${(error as Error).message}`);
  }
}
