/** `bulkhead call`: one tool of one server, started for this call alone, inside one deadline. */
import type {
  CallOptions,
  LoadedConfig,
  RuntimeApi,
  ServerView,
  ToolDefinition,
  ToolResult,
} from '@bulkhead/runtime';
import { formatProblem, rawArguments } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { compose, parsePair, readArgsOption, readPairs } from '../arguments.js';
import { type CommonOptions, type Context, time } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { nearest } from '../nearest.js';
import { plain } from '../output.js';
import { readText } from '../read-text.js';
import { renderText } from '../render.js';
import { atOnce, onlyServers, openConfig, withRuntime } from '../session.js';
import { parseTarget, type Target } from '../target.js';
import { validate } from '../validate.js';

export interface CallCommandOptions extends CommonOptions {
  args?: string;
  validate: boolean;
}

interface Found {
  view: ServerView;
  tool: ToolDefinition;
}

export async function call(
  targetText: string,
  pairTexts: readonly string[],
  options: CallCommandOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
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

  return withRuntime(atOnce(onlyServers(config, servers)), context, async (runtime) => {
    const connectLimit = Math.min(connectMs ?? Number.POSITIVE_INFINITY, left() ?? Number.POSITIVE_INFINITY);
    const { view, tool } = await interrupt.race(
      find(runtime, target, servers, Number.isFinite(connectLimit) ? connectLimit : undefined),
    );
    const json = compose(base, pairs, tool.inputSchema);
    if (options.validate) await check(json, tool, view.name, context);
    const callOptions: CallOptions = { signal: interrupt.signal };
    const limit = left();
    // One deadline: progress does not stretch it.
    if (limit !== undefined) Object.assign(callOptions, { timeoutMs: limit, maxMs: limit });
    const result = await view.callTool(tool.name, rawArguments(json), callOptions);
    await print(result, view.name, tool.name, output);
    return result.isError ? exitCode.failed : exitCode.ok;
  });
}

async function print(
  result: ToolResult,
  server: string,
  tool: string,
  output: Context['output'],
): Promise<void> {
  for (const warning of result.warnings) output.note(`warning: ${plain(warning)}`);
  const text = output.json ? result.raw : renderText(result);
  if (text === '') output.note('(empty result)');
  else await output.data(text.endsWith('\n') ? text : `${text}\n`);
  if (!result.isError) return;
  const message = `tool "${tool}" of server "${server}" reported an error; its text is on stdout`;
  if (output.json) output.report(JSON.stringify({ error: { code: 'TOOL_ERROR', message, server, tool } }));
  else output.note(`error: ${message} [TOOL_ERROR]`);
}

/** Waits until the server that has the tool is ready. */
async function find(
  runtime: RuntimeApi,
  target: Target,
  servers: readonly string[],
  timeoutMs: number | undefined,
): Promise<Found> {
  const startedAt = performance.now();
  const report = await runtime.ready({
    servers: [...servers],
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const waitedMs = Math.round(performance.now() - startedAt);
  const tools = runtime.tools();
  const found =
    'server' in target
      ? tools.find(({ server, name }) => server === target.server && name === target.tool)
      : tools.find(({ fullName }) => fullName === target.fullName);
  if (found !== undefined) return { view: runtime.server(found.server), tool: found };

  const [failed] = report.failed;
  if (failed !== undefined) {
    const { name, state, reason } = failed;
    const stderr = reason?.stderr?.at(-1);
    const said =
      stderr === undefined || reason?.message.includes(stderr) ? '' : ` (stderr: ${plain(stderr)})`;
    const why = reason?.message ?? `it is still ${state}`;
    const code = state === 'needs-auth' || state === 'needs-approval' ? 'DENIED' : 'NOT_READY';
    throw new BulkheadError(code, `server "${name}" is not ready after ${waitedMs} ms: ${why}${said}`, {
      server: name,
    });
  }
  const wanted = 'server' in target ? target.tool : target.fullName;
  const names = tools.map(({ name, fullName }) => ('server' in target ? name : fullName));
  const hint =
    names.length === 0 ? 'it has no tools' : `nearest: ${nearest(wanted, names).map(plain).join(', ')}`;
  const place = 'server' in target ? `server "${target.server}" has` : 'no server has';
  throw new BulkheadError(
    'UNKNOWN_TOOL',
    `${place} ${'server' in target ? 'no' : 'a'} tool "${wanted}"; ${hint}`,
    {
      ...('server' in target ? { server: target.server } : {}),
      tool: wanted,
    },
  );
}

async function check(json: string, tool: ToolDefinition, server: string, { output }: Context): Promise<void> {
  const verdict = await validate(JSON.parse(json), tool.inputSchema);
  if (verdict.is === 'skipped') {
    output.note(
      `note: arguments are sent unchecked; the schema of "${tool.name}" is unusable: ${plain(verdict.why)}`,
    );
  }
  if (verdict.is !== 'invalid') return;
  throw new BulkheadError(
    'INVALID_ARGUMENTS',
    `arguments do not fit the input schema of "${tool.name}": ${verdict.problems.map(plain).join('; ')}. ` +
      'A value of another type is written key:=json; --no-validate sends it as it is.',
    { server, tool: tool.name },
  );
}

function refuseHeld(names: readonly string[], config: LoadedConfig): void {
  const servers = config.servers.filter(({ name }) => names.includes(name));
  const held = servers.find(({ spec }) => spec.held !== undefined);
  if (held?.spec.held !== undefined && servers.every(({ spec }) => spec.held !== undefined)) {
    throw new BulkheadError('DENIED', held.spec.held.reason, { server: held.name });
  }
}

function unknownServer(name: string, config: LoadedConfig): Error {
  const rejected = config.rejected.find((entry) => entry.name === name);
  if (rejected !== undefined) {
    return new BulkheadError('BAD_CONFIG', formatProblem(rejected.problem), { server: name });
  }
  const known = nearest(
    name,
    config.servers.map((server) => server.name),
  )
    .map(plain)
    .join(', ');
  return new BulkheadError('UNKNOWN_SERVER', `server "${name}" is not in the config; nearest: ${known}`, {
    server: name,
  });
}
