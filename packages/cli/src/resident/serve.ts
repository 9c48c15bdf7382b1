/** A resident from its name to its end: the runtime, its control socket, the watch on its files, and what it says meanwhile. */
import type { RuntimeApi, RuntimeEvents, RuntimeOptions, ServerState } from '@bulkhead/runtime';
import { configPaths } from '@bulkhead/runtime/control/client';
import type { Context } from '../context.js';
import { plain } from '../output.js';
import { withRuntime } from '../session.js';
import { ConfigWatch } from './config-watch.js';
import { Idle } from './idle.js';
import type { LiveConfig } from './live-config.js';

export interface ServeOptions {
  name: string;
  /** Ends after so long without use; undefined never. */
  idleMs: number | undefined;
  /** What is written of its servers and calls. */
  records: Pick<RuntimeOptions, 'audit' | 'logger' | 'metrics'>;
  /** The name is taken and the servers are starting. */
  onUp: (facts: { name: string; pid: number; socket: string; servers: number }) => void;
}

/** States that a person wants to read about while they come. */
const TOLD: ReadonlySet<ServerState> = new Set([
  'ready',
  'backoff',
  'quarantined',
  'lost',
  'disabled',
  'needs-approval',
  'needs-auth',
]);

/** Resolves when it was told to end, by a signal, by `bulkhead down`, or by idleness. */
export async function serve(live: LiveConfig, options: ServeOptions, context: Context): Promise<void> {
  const { output, interrupt } = context;
  const { metrics, ...records } = options.records;
  const { openControl, openMetrics } = await import('@bulkhead/runtime/control');
  // The name comes first: whoever loses it must not have started a server.
  await withRuntime(
    live.empty,
    context,
    async (runtime) => {
      let end: (why: string) => void = () => {};
      const ended = new Promise<string>((resolve) => {
        end = resolve;
      });
      let idle: Idle | undefined;
      const control = await openControl(runtime, {
        name: options.name,
        project: live.source.projectDir,
        files: live.source.files,
        config: { mark: () => live.mark, trusted: live.trusted, recheck: () => live.recheck() },
        describe: (server) => live.describe(server),
        findings: () => live.findings(),
        reload: () => live.reload(),
        reloadFailure: () => live.failure,
        shutdown: () => end('it was asked to end'),
        onActivity: () => idle?.touch(),
        ...(runtime.logger === undefined ? {} : { logger: runtime.logger }),
      });
      if (metrics !== undefined) output.note(`metrics are at ${(await openMetrics(runtime, metrics)).url}`);
      tellEvents(runtime, output.note.bind(output));
      await live.begin(runtime);
      const watch = new ConfigWatch(configPaths(live.source), () => void live.recheck());
      // What changed while the watch was not there yet.
      void live.recheck();
      if (options.idleMs !== undefined) {
        idle = new Idle(
          options.idleMs,
          () => isBusy(runtime),
          () => end('nobody used it'),
        );
      }
      const servers = runtime.servers().length;
      options.onUp({ name: options.name, pid: process.pid, socket: control.path, servers });
      try {
        const why = await interrupt.race(ended);
        output.note(`resident "${options.name}" ends: ${why}`);
      } finally {
        watch.close();
        idle?.stop();
      }
    },
    records,
  );
}

async function isBusy(runtime: RuntimeApi): Promise<boolean> {
  const { servers } = await runtime.status();
  return servers.some(({ stats }) => stats.inFlight + stats.queued > 0);
}

function tellEvents(runtime: RuntimeApi, note: (line: string) => void): void {
  runtime.on('state', ({ server, state, reason }: RuntimeEvents['state'][0]) => {
    if (server === '' || !TOLD.has(state)) return;
    const why = reason === undefined || state === 'ready' ? '' : `: ${plain(reason.message)}`;
    note(`server "${plain(server)}" is ${state}${why}`);
  });
  runtime.on('warning', ({ server, message }) =>
    note(`warning: ${server === undefined ? '' : `server "${plain(server)}": `}${plain(message)}`),
  );
  runtime.on('supervisor-lost', ({ error }) =>
    note(`error: the supervisor was lost: ${plain(error.message)}`),
  );
}
