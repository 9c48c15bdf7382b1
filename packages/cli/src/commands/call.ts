/**
 * `bulkhead call`: one tool of one server, started for this call alone, inside one deadline. What a resident can do
 * without any of this stands in `resident/warm-call.ts`.
 */
import { type CallOptions, rawArguments, type ToolDefinition } from '@bulkhead/runtime';
import { invalidArguments, uncheckedNote } from '../argument-mistake.js';
import { compose, parsePair, readArgsOption, readPairs } from '../arguments.js';
import { type CommonOptions, type Context, time } from '../context.js';
import { findTool, refuseHeld, unknownServer } from '../find-tool.js';
import { printResult } from '../print-result.js';
import { readText } from '../read-text.js';
import type { AuditOption } from '../record-options.js';
import { withServers } from '../resident/with-servers.js';
import { atOnce, onlyServers, openConfig } from '../session.js';
import { parseTarget } from '../target.js';
import { validate } from '../validate.js';

export interface CallCommandOptions extends CommonOptions, AuditOption {
  args?: string;
  validate: boolean;
}

export async function call(
  targetText: string,
  pairTexts: readonly string[],
  options: CallCommandOptions,
  context: Context,
): Promise<number> {
  const { interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const connectMs = time('--connect-timeout', options.connectTimeout);
  const deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  const left = (): number | undefined =>
    deadline === undefined ? undefined : Math.max(1, Math.round(deadline - performance.now()));

  // Whatever can be wrong with the command line is said before a server starts.
  const pairs = await interrupt.race(readPairs(pairTexts.map(parsePair), readText));
  const base =
    options.args === undefined ? undefined : await interrupt.race(readArgsOption(options.args, readText));
  const config = await openConfig(options, context, (name) => targetText.startsWith(`${name}.`));
  const target = parseTarget(
    targetText,
    config.servers.map(({ name }) => name),
    (name) => unknownServer(name, config),
  );
  const servers = 'server' in target ? [target.server] : target.candidates;
  refuseHeld(servers, config);

  return withServers(atOnce(onlyServers(config, servers)), options, context, async (host) => {
    const connectLimit = Math.min(connectMs ?? Number.POSITIVE_INFINITY, left() ?? Number.POSITIVE_INFINITY);
    const { view, tool } = await interrupt.race(
      findTool(host, target, servers, Number.isFinite(connectLimit) ? connectLimit : undefined),
    );
    const json = compose(base, pairs, tool.inputSchema);
    if (options.validate) await check(json, tool, view.name, context);
    const callOptions: CallOptions = { signal: interrupt.signal };
    const limit = left();
    // One deadline: progress does not stretch it.
    if (limit !== undefined) Object.assign(callOptions, { timeoutMs: limit, maxMs: limit });
    const result = await view.callTool(tool.name, rawArguments(json), callOptions);
    return printResult(result, view.name, tool.name, context.output);
  });
}

async function check(json: string, tool: ToolDefinition, server: string, { output }: Context): Promise<void> {
  const verdict = await validate(JSON.parse(json), tool.inputSchema);
  if (verdict.is === 'skipped') output.note(uncheckedNote(tool.name, verdict.why));
  if (verdict.is === 'invalid') throw invalidArguments(server, tool.name, verdict.problems);
}
