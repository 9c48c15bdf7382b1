/** A question to every server that is ready, or to one: the frame of the commands that list something. */
import { BulkheadError } from '@bulkhead/workers';
import { type CommonOptions, type Context, time } from './context.js';
import { exitCode } from './exit-codes.js';
import { notReady, worst } from './ready-servers.js';
import { KnownServers } from './resident/known-servers.js';
import type { HostedServer, ToolHost } from './resident/remote-host.js';

/** What one server answered with, and which. */
type Row = Record<string, unknown> & { server: string };

/** Prints what every server answers, in order of the servers' names. Servers that are not ready are told on stderr. */
export async function listEach<T extends Row>(
  server: string | undefined,
  options: CommonOptions,
  context: Context,
  ask: (view: HostedServer, signal: AbortSignal) => Promise<T[]>,
  shown: { what: string; asTable: (rows: readonly T[], stdout: Context['output']['stdout']) => string },
): Promise<number> {
  const { output, interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const known = await KnownServers.open(options, context, (name) => name === server);
  return known.use(server === undefined ? undefined : [server], async (host, servers) => {
    const report = await interrupt.race(
      host.ready({ servers, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
    for (const failure of report.failed) output.note(notReady(failure));
    const answers = await interrupt.race(
      Promise.all(report.ready.map((name) => ask(host.server(name), interrupt.signal))),
    );
    const rows = answers.flat();
    if (output.json) await output.data(jsonLines(rows));
    else if (rows.length === 0) output.note(`(no ${shown.what})`);
    else await output.data(shown.asTable(rows, output.stdout));
    return report.ready.length === 0 && report.failed.length > 0 ? worst(report) : exitCode.ok;
  });
}

/** Runs `use` with one server that is ready. @throws {BulkheadError} when it does not become ready. */
export async function withServer<T>(
  server: string,
  known: KnownServers,
  options: CommonOptions,
  context: Context,
  use: (view: HostedServer, host: ToolHost) => Promise<T>,
): Promise<T> {
  const timeoutMs = time('--timeout', options.timeout);
  return known.use([server], async (host) => {
    const report = await context.interrupt.race(
      host.ready({ servers: [server], ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
    const [failure] = report.failed;
    if (failure !== undefined) {
      const waits = failure.state === 'needs-auth' || failure.state === 'needs-approval';
      throw new BulkheadError(waits ? 'DENIED' : 'NOT_READY', notReady(failure), { server });
    }
    return context.interrupt.race(use(host.server(server), host));
  });
}

function jsonLines(rows: readonly Row[]): string {
  const lines = rows.map(({ server, ...rest }) => JSON.stringify({ server, ...rest }));
  return lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`;
}
