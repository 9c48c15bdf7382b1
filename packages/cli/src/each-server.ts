/** A question to every server that is ready, or to one: the frame of the commands that list something. */
import { BulkheadError } from '@bulkhead/workers';
import { type CommonOptions, type Context, time } from './context.js';
import { exitCode } from './exit-codes.js';
import { notReady, worst } from './ready-servers.js';
import { KnownServers } from './resident/known-servers.js';
import type { HostedServer, ToolHost } from './resident/remote-host.js';

/** Gives `print` the answers in order of the servers' names. Servers that are not ready are told on stderr. */
export async function eachServer<T>(
  server: string | undefined,
  options: CommonOptions,
  context: Context,
  ask: (view: HostedServer, signal: AbortSignal) => Promise<T[]>,
  print: (answers: T[]) => Promise<void>,
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
    await print(answers.flat());
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
