/** A question to every server that is ready, or to one: the frame of the commands that list something. */
import type { LoadedConfig, ServerView } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { type CommonOptions, type Context, time } from './context.js';
import { exitCode } from './exit-codes.js';
import { notReady, oneServer, worst } from './ready-servers.js';
import { atOnce, openConfig, withRuntime } from './session.js';

/** Gives `print` the answers in order of the servers' names. Servers that are not ready are told on stderr. */
export async function eachServer<T>(
  server: string | undefined,
  options: CommonOptions,
  context: Context,
  ask: (view: ServerView, signal: AbortSignal) => Promise<T[]>,
  print: (answers: T[]) => Promise<void>,
): Promise<number> {
  const { output, interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const all = await openConfig(options, context, (name) => name === server);
  const config = server === undefined ? all : oneServer(server, all);
  return withRuntime(atOnce(config), context, async (runtime) => {
    const servers = config.servers.filter(({ spec }) => !spec.disabled).map(({ name }) => name);
    const report = await interrupt.race(
      runtime.ready({ servers, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
    for (const failure of report.failed) output.note(notReady(failure));
    const answers = await interrupt.race(
      Promise.all(report.ready.map((name) => ask(runtime.server(name), interrupt.signal))),
    );
    await print(answers.flat());
    return report.ready.length === 0 && report.failed.length > 0 ? worst(report) : exitCode.ok;
  });
}

/** Runs `use` with one server that is ready. @throws {BulkheadError} when it does not become ready. */
export async function withServer<T>(
  server: string,
  config: LoadedConfig,
  options: CommonOptions,
  context: Context,
  use: (view: ServerView) => Promise<T>,
): Promise<T> {
  const timeoutMs = time('--timeout', options.timeout);
  return withRuntime(atOnce(oneServer(server, config)), context, async (runtime) => {
    const report = await context.interrupt.race(
      runtime.ready({ servers: [server], ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
    const [failure] = report.failed;
    if (failure !== undefined) {
      const waits = failure.state === 'needs-auth' || failure.state === 'needs-approval';
      throw new BulkheadError(waits ? 'DENIED' : 'NOT_READY', notReady(failure), { server });
    }
    return context.interrupt.race(use(runtime.server(server)));
  });
}
