/** `bulkhead list`: which servers the config names, where each stands and whether it may run. Connects only when asked to. */
import { homedir } from 'node:os';
import { relative, sep } from 'node:path';
import { formatProblem } from '@bulkhead/runtime';
import { type CommonOptions, type Context, time, trustsProject } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { maskedLaunch } from '../mask.js';
import { plain } from '../output.js';
import { atOnce, onlyServers, withRuntime } from '../session.js';
import { readStandings, type StandingServer } from '../standings.js';
import { table } from '../table.js';

export interface ListCommandOptions extends CommonOptions {
  check?: boolean;
}

/** One server; the elements of the array that `--json` prints. */
interface Row {
  server: string;
  scope: string;
  transport?: string;
  state: string;
  file?: string;
  line?: number;
  /** Command line or URL, credentials masked. */
  runs?: string;
  /** Names of variables and headers that the entry sets. */
  env?: readonly string[];
  headers?: readonly string[];
  tools?: number;
  reason?: string;
}

export async function list(options: ListCommandOptions, context: Context): Promise<number> {
  const { output } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const { config, servers } = await readStandings(options, context, { trusted: trustsProject(options) });
  for (const problem of config.problems) {
    // What concerns one entry that cannot run stands in its row.
    if (problem.severity === 'error' && problem.server !== undefined) continue;
    output.note(`${problem.severity}: ${formatProblem(problem)}`);
  }
  const rows = servers.map(rowOf);
  const worst = options.check === true ? await check(rows, servers, config, timeoutMs, context) : exitCode.ok;
  if (output.json) {
    const lines = rows.map((row) => JSON.stringify(row));
    await output.data(lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`);
    return worst;
  }
  if (rows.length === 0) output.note('(no servers; add one with: bulkhead add NAME -- COMMAND)');
  else await output.data(asTable(rows, options.check === true, output.stdout));
  for (const { server, reason } of rows)
    if (reason !== undefined) output.note(`${plain(server)}: ${plain(reason)}`);
  return worst;
}

function rowOf({ name, standing, server, problem, changes }: StandingServer): Row {
  if (server === undefined) {
    const reason = problem === undefined ? 'its entry is invalid' : formatProblem(problem);
    const { file, line } = problem ?? {};
    return { server: name, scope: '', state: standing, reason, ...(file && { file }), ...(line && { line }) };
  }
  const { scope, file, line, written } = server;
  const { type, env, headers } = written;
  return {
    server: name,
    scope,
    transport: type,
    state: standing,
    ...(file && { file }),
    ...(line && { line }),
    runs: maskedLaunch(written),
    ...(env && { env }),
    ...(headers && { headers }),
    ...(problem !== undefined && { reason: formatProblem(problem) }),
    ...(changes.length > 0 && { reason: `differs from what was approved: ${changes.join('; ')}` }),
  };
}

/** Starts what may run and writes into the rows what became of it. */
async function check(
  rows: Row[],
  servers: readonly StandingServer[],
  config: Parameters<typeof onlyServers>[0],
  timeoutMs: number | undefined,
  context: Context,
): Promise<number> {
  const names = servers.filter(({ standing }) => standing === 'enabled').map(({ name }) => name);
  if (names.length === 0) return exitCode.ok;
  return withRuntime(atOnce(onlyServers(config, names)), context, async (runtime) => {
    const report = await context.interrupt.race(
      runtime.ready({ servers: names, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
    for (const row of rows) {
      if (!names.includes(row.server)) continue;
      const view = runtime.server(row.server);
      row.state = view.state;
      if (view.state === 'ready') row.tools = view.tools.length;
      else if (view.reason !== undefined) row.reason = view.reason.message;
    }
    if (report.ok) return exitCode.ok;
    return report.failed.every(({ state }) => state === 'needs-auth')
      ? exitCode.approval
      : exitCode.unreachable;
  });
}

function asTable(rows: readonly Row[], checked: boolean, stdout: Context['output']['stdout']): string {
  const head = ['server', 'state', 'scope', 'transport', ...(checked ? ['tools'] : []), 'source', 'runs'];
  const lines = rows.map(({ server, state, scope, transport, tools, file, line, runs }) => [
    plain(server),
    state,
    scope,
    transport ?? '',
    ...(checked ? [tools === undefined ? '' : String(tools)] : []),
    file === undefined ? '' : plain(`${short(file)}${line === undefined ? '' : `:${line}`}`),
    plain(runs ?? ''),
  ]);
  return table(head, lines, {
    width: stdout.isTTY === true ? stdout.columns : undefined,
    right: checked ? [4] : [],
  });
}

function short(file: string): string {
  const inside = relative(process.cwd(), file);
  if (!inside.startsWith('..')) return inside;
  const home = homedir();
  return file.startsWith(home + sep) ? `~${file.slice(home.length)}` : file;
}
