/** A chunk: the lines of a batch that one job carries. What stands in the queue is checked again when it is taken. */
import { BulkheadError } from '@bulkhead/workers';
import { z } from 'zod';

const chunkSchema = z.object({
  batch: z.string(),
  /** Line number (1-based, blank lines counted) and text without its end. */
  lines: z.array(z.tuple([z.number().int().positive(), z.string()])),
  /** It was given back because its server could not be used: how often, and when first, in ms since 1970. */
  back: z.object({ times: z.number(), since: z.number() }).optional(),
});

export type Chunk = z.infer<typeof chunkSchema>;

/** @throws {BulkheadError} `BAD_INPUT` when the job is no chunk: something else writes to the queue. */
export function parseChunk(data: unknown, job: string): Chunk {
  const parsed = chunkSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new BulkheadError(
    'BAD_INPUT',
    `job "${job}" is no chunk of a batch (${parsed.error.issues[0]?.message ?? 'unreadable'}); ` +
      'was it added by another program, or by another version of this one?',
  );
}
