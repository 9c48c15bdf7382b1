/** `bulkhead worker`: a runtime of its own that runs calls of submitted batches until it is told to end. */
import type { LoadedConfig, ReadyReport, ServerState } from '@bulkhead/runtime';
import type { StoreOptions } from '../cluster/store-location.js';
import { tellWarnings, withCluster } from '../cluster/with-cluster.js';
import { live } from '../cluster/worker-life.js';
import { type Context, count, time, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { notReady, oneServer, worst } from '../ready-servers.js';
import type { RecordOptions } from '../record-options.js';
import { recordsOf } from '../records.js';
import { atOnce, onlyServers, openConfig, withRuntime } from '../session.js';

export interface WorkerOptions extends StoreOptions, RecordOptions {
  servers?: string;
  concurrency?: string;
  exitWhenIdle?: string;
}

const MOST_IN_FLIGHT = 100_000;
/** A server in one of these does not come back by itself. */
const RESTING: ReadonlySet<ServerState> = new Set([
  'quarantined',
  'needs-approval',
  'needs-auth',
  'disabled',
]);

export async function worker(options: WorkerOptions, context: Context): Promise<number> {
  const { interrupt } = context;
  const concurrency = count('--concurrency', options.concurrency, MOST_IN_FLIGHT);
  const idleMs = time('--exit-when-idle', options.exitWhenIdle);
  const records = await recordsOf(options);
  const config = atOnce(await chosen(options, context));
  // A store that goes away comes back: what is held waits for it.
  const patience = { patienceMs: Number.POSITIVE_INFINITY };
  return withCluster(
    options,
    context,
    async (cluster) => {
      tellWarnings(cluster, context);
      return withRuntime(
        config,
        context,
        async (runtime) => {
          const report = await interrupt.race(runtime.ready());
          const servers = usable(report, config, context);
          if (servers.length === 0) return worst(report);
          const makeWorker = (onWarning: (message: string) => void) =>
            cluster.worker({
              runtime,
              // Those that cannot be used now may be later.
              servers: config.servers.map(({ name }) => name),
              windows: new Map(config.servers.map(({ name, spec }) => [name, spec.options.window])),
              signal: interrupt.signal,
              onWarning,
              ...(concurrency === undefined ? {} : { concurrency }),
            });
          await live(makeWorker, runtime, { servers, place: cluster.place, idleMs }, context);
          return exitCode.ok;
        },
        records,
      );
    },
    patience,
  );
}

/** @throws {BulkheadError} naming the server that is not there or may not run. */
async function chosen({ servers: list, ...options }: WorkerOptions, context: Context): Promise<LoadedConfig> {
  const config = await openConfig(options, context);
  if (list === undefined) return config;
  const names = list.split(',').filter((name) => name !== '');
  if (names.length === 0) throw usageError('--servers: expected names with commas between them');
  for (const name of names) oneServer(name, config);
  return onlyServers(config, names);
}

/** A server that cannot run here must not draw calls that another worker can run. */
function usable({ failed }: ReadyReport, config: LoadedConfig, { output }: Context): string[] {
  const resting = new Set(failed.filter(({ state }) => RESTING.has(state)).map(({ name }) => name));
  for (const failure of failed) {
    const then = resting.has(failure.name) ? 'its calls are left to other workers' : 'its calls wait for it';
    output.note(`warning: ${notReady(failure)}; ${then}`);
  }
  return config.servers.map(({ name }) => name).filter((name) => !resting.has(name));
}
