/** `bulkhead tools`: what the servers offer, as a table or as JSON. */
import { type CatalogTool, formatProblem, type LoadedConfig, type ReadyReport } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { type CommonOptions, type Context, time } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { nearest } from '../nearest.js';
import { plain } from '../output.js';
import { atOnce, onlyServers, openConfig, withRuntime } from '../session.js';
import { table } from '../table.js';

export async function tools(
  server: string | undefined,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const all = await openConfig(options, context, (name) => name === server);
  const config = server === undefined ? all : one(server, all);
  return withRuntime(atOnce(config), context, async (runtime) => {
    const servers = config.servers.filter(({ spec }) => !spec.disabled).map(({ name }) => name);
    const report = await interrupt.race(
      runtime.ready({ servers, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
    for (const failure of report.failed) output.note(sentence(failure));
    const list = runtime.tools();
    await output.data(output.json ? asJson(list) : await asTable(list, output.stdout));
    if (list.length === 0 && report.ready.length > 0) output.note('(no tools)');
    return report.ready.length === 0 && report.failed.length > 0 ? worst(report) : exitCode.ok;
  });
}

function one(server: string, config: LoadedConfig): LoadedConfig {
  const rejected = config.rejected.find(({ name }) => name === server);
  if (rejected !== undefined)
    throw new BulkheadError('BAD_CONFIG', formatProblem(rejected.problem), { server });
  const entry = config.servers.find(({ name }) => name === server);
  if (entry === undefined) {
    const near = nearest(
      server,
      config.servers.map(({ name }) => name),
    )
      .map(plain)
      .join(', ');
    const message = `server "${server}" is not in the config; nearest: ${near}`;
    throw new BulkheadError('UNKNOWN_SERVER', message, { server });
  }
  if (entry.spec.held !== undefined) throw new BulkheadError('DENIED', entry.spec.held.reason, { server });
  return onlyServers(config, [server]);
}

function worst({ failed }: ReadyReport): number {
  const waiting = failed.every(({ state }) => state === 'needs-approval' || state === 'needs-auth');
  return waiting ? exitCode.approval : exitCode.unreachable;
}

function sentence({ name, state, reason }: ReadyReport['failed'][number]): string {
  const tail = reason?.stderr?.at(-1);
  const said = tail === undefined || reason?.message.includes(tail) ? '' : ` (stderr: ${plain(tail)})`;
  return `server "${plain(name)}" is not ready (${state})${reason === undefined ? '' : `: ${plain(reason.message)}`}${said}`;
}

/** One tool a line inside one array: a JSON document that line tools can read too. */
function asJson(list: readonly CatalogTool[]): string {
  const lines = list.map(({ server, name, fullName, description, inputSchema, annotations }) =>
    JSON.stringify({ server, name, fullName, description, inputSchema, annotations }),
  );
  return lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`;
}

async function asTable(
  list: readonly CatalogTool[],
  stdout: { columns?: number; isTTY?: boolean },
): Promise<string> {
  if (list.length === 0) return '';
  const rows = list.map(({ server, name, description, annotations }) => [
    plain(server),
    plain(name),
    annotations?.readOnlyHint === true ? 'read-only' : '',
    plain((description ?? '').trim().split('\n')[0] ?? ''),
  ]);
  return table(['server', 'tool', 'mark', 'description'], rows, {
    width: stdout.isTTY === true ? stdout.columns : undefined,
  });
}
