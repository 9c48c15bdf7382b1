/**
 * Config and runtime for the length of one command. The runtime is closed on every way out, so no command leaves a
 * server behind.
 */
import {
  createRuntime,
  formatProblem,
  holdUnapproved,
  type LoadedConfig,
  loadConfig,
  needsApproval,
  type RuntimeApi,
  type RuntimeOptions,
} from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { type CommonOptions, type Context, trustsProject } from './context.js';
import { recordFile } from './recording.js';

/**
 * Reads the config and tells each finding once. Why the server that `isAsked` cannot run is left to the command,
 * which ends with it.
 * @throws {BulkheadError} `BAD_CONFIG` when there is no server at all, `DENIED` when all of them need approval.
 */
export async function openConfig(
  options: CommonOptions,
  { output }: Context,
  isAsked: (server: string) => boolean = () => false,
): Promise<LoadedConfig> {
  const files = options.config ?? [];
  const config = await loadConfig(files.length > 0 ? { files } : {});
  const told = new Set(config.rejected.filter(({ name }) => isAsked(name)).map(({ problem }) => problem));
  for (const problem of config.problems) {
    if (!told.has(problem)) output.note(`${problem.severity}: ${formatProblem(problem)}`);
  }
  const { servers } = trustsProject(options) ? asNamed(config) : await holdUnapproved(config, TRUST_HINT);
  const held = servers.find(({ spec }) => spec.held?.state === 'needs-approval');
  if (servers.length === 0) {
    const where = config.files.length > 0 ? ` in ${config.files.join(', ')}` : '';
    const next =
      config.rejected.length > 0 ? 'Repair the entries named above' : 'Name a file with --config FILE';
    throw new BulkheadError('BAD_CONFIG', `no usable server${where}. ${next}.`);
  }
  if (held !== undefined && servers.every(({ spec }) => spec.held?.state === 'needs-approval')) {
    throw new BulkheadError('DENIED', held.spec.held?.reason ?? 'approval is needed', { server: held.name });
  }
  return { ...config, servers };
}

/** A file that merely lies in the current directory may come from anyone; naming it with --config is the consent. */
export const TRUST_HINT =
  'look at what it runs and allow it with "bulkhead approve"; to run it once, pass --trust-project (or BULKHEAD_TRUST_PROJECT=1), or name its file: --config .mcp.json';

/** The config as if a person had named its files. */
export function asNamed(config: LoadedConfig): LoadedConfig {
  const servers = config.servers.map((server) =>
    needsApproval(server) ? { ...server, scope: 'file' as const } : server,
  );
  return { ...config, servers };
}

/** The config with some of its servers only. */
export function onlyServers(config: LoadedConfig, names: readonly string[]): LoadedConfig {
  return { ...config, servers: config.servers.filter(({ name }) => names.includes(name)) };
}

/** The config with its servers started when they are asked for. */
export function onDemand(config: LoadedConfig): LoadedConfig {
  const servers = config.servers.map((server) => ({
    ...server,
    spec: { ...server.spec, lifecycle: 'lazy' as const },
  }));
  return { ...config, servers };
}

/** The config with its servers started at once. */
export function atOnce(config: LoadedConfig): LoadedConfig {
  const servers = config.servers.map((server) => ({
    ...server,
    spec: { ...server.spec, lifecycle: 'eager' as const },
  }));
  return { ...config, servers };
}

/** Runs `use` with a runtime and closes it afterwards, whatever happens. A second signal closes without grace. */
export async function withRuntime<T>(
  config: LoadedConfig,
  { output, interrupt }: Context,
  use: (runtime: RuntimeApi) => Promise<T>,
  options: Pick<RuntimeOptions, 'handlers' | 'logDir' | 'audit' | 'logger' | 'metrics'> = {},
): Promise<T> {
  const file = recordFile();
  const recording = file === undefined ? {} : { record: { file } };
  const runtime = await createRuntime({ config, ...recording, ...options });
  const killed = new Promise<undefined>((resolve) => {
    const kill = (): void => void runtime.close({ deadlineMs: 0 }).finally(() => resolve(undefined));
    if (interrupt.kill.aborted) kill();
    interrupt.kill.addEventListener('abort', kill, { once: true });
  });
  try {
    return await use(runtime);
  } finally {
    const report = await Promise.race([runtime.close(), killed]);
    for (const { name, pids } of report?.servers ?? []) {
      for (const { pid, gone } of pids) {
        if (!gone) output.note(`warning: process ${pid} of server "${name}" has not ended; end it by hand`);
      }
    }
  }
}
