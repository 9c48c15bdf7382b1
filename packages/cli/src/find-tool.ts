/**
 * The tool that a command line names, found in servers started for it; and why it cannot be had, with the nearest names.
 */
import { formatProblem, type LoadedConfig, type RuntimeApi, type ToolDefinition } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { nearest } from './nearest.js';
import { plain } from './output.js';
import type { Target } from './target.js';

/** `V` is a server as its host gives it: a runtime of one's own, or a resident. */
export interface FoundTool<V> {
  view: V;
  tool: ToolDefinition;
}

/** Waits until the server that has the tool is ready. */
export async function findTool<V>(
  runtime: Pick<RuntimeApi, 'ready' | 'tools'> & { server(name: string): V },
  target: Target,
  servers: readonly string[],
  timeoutMs: number | undefined,
): Promise<FoundTool<V>> {
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

/** @throws {BulkheadError} `DENIED` when none of the servers may run. */
export function refuseHeld(names: readonly string[], config: LoadedConfig): void {
  const servers = config.servers.filter(({ name }) => names.includes(name));
  const held = servers.find(({ spec }) => spec.held !== undefined);
  if (held?.spec.held !== undefined && servers.every(({ spec }) => spec.held !== undefined)) {
    throw new BulkheadError('DENIED', held.spec.held.reason, { server: held.name });
  }
}

export function unknownServer(name: string, config: LoadedConfig): Error {
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
