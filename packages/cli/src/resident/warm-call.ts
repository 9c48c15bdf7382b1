/**
 * `bulkhead call` through a resident: two requests, and nothing is loaded that they do not need. Whatever is not the
 * ordinary way (no resident, another configuration, an unknown tool) goes on to the whole command, which says the same
 * as it would without a resident.
 */
import { BulkheadError } from '@bulkhead/workers/errors';
import { invalidArguments, uncheckedNote } from '../argument-mistake.js';
import { compose, parsePair, readArgsOption, readPairs } from '../arguments.js';
import type { CallCommandOptions } from '../commands/call.js';
import { type Context, time, usageError } from '../context.js';
import { printResult } from '../print-result.js';
import { readText } from '../read-text.js';
import { demanded, standIn } from './find-resident.js';
import { mayGoElsewhere } from './remote-host.js';

export async function warmCall(
  target: string,
  pairTexts: readonly string[],
  options: CallCommandOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const must = typeof options.resident === 'string';
  if (must && options.audit !== undefined) {
    throw usageError(
      '--audit is for servers of this command; a resident writes its own: bulkhead up --audit FILE',
    );
  }
  const client = must ? demanded(String(options.resident), context) : standIn(options, context);
  const whole = async (pairs: readonly string[], own: CallCommandOptions): Promise<number> =>
    (await import('../commands/call.js')).call(target, pairs, own, context);
  if (client === undefined) return whole(pairTexts, options);

  const timeoutMs = time('--timeout', options.timeout);
  const connectMs = time('--connect-timeout', options.connectTimeout);
  const deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  const left = (): number | undefined =>
    deadline === undefined ? undefined : Math.max(1, Math.round(deadline - performance.now()));
  const parsed = pairTexts.map(parsePair);

  const limitMs = Math.min(connectMs ?? Number.POSITIVE_INFINITY, left() ?? Number.POSITIVE_INFINITY);
  const finding = client.find(target, Number.isFinite(limitMs) ? limitMs : undefined);
  const found = await interrupt.race(finding).catch((error: unknown) => {
    if (must || interrupt.signal.aborted || !(error instanceof BulkheadError)) throw error;
    return undefined;
  });
  if (found === undefined) return whole(pairTexts, options);
  for (const sentence of found.findings) output.note(sentence);

  const pairs = await interrupt.race(readPairs(parsed, readText));
  const base =
    options.args === undefined ? undefined : await interrupt.race(readArgsOption(options.args, readText));
  const { server, name: tool, inputSchema } = found;
  const args = compose(base, pairs, inputSchema);
  const limit = left();
  const limits = limit === undefined ? {} : { timeoutMs: limit, maxMs: limit };
  try {
    const request = { server, tool, args, validate: options.validate, ...limits };
    const result = await client.call(request, interrupt.signal);
    if (result.unchecked !== undefined) output.note(uncheckedNote(tool, result.unchecked));
    return await printResult(result, server, tool, output);
  } catch (error) {
    if (
      error instanceof BulkheadError &&
      error.code === 'INVALID_ARGUMENTS' &&
      Array.isArray(error.data.problems)
    ) {
      throw invalidArguments(server, tool, error.data.problems.map(String));
    }
    if (must || !mayGoElsewhere(error)) throw error;
    // Files and stdin were read already: what they held goes on.
    return whole([], { ...options, args });
  }
}
