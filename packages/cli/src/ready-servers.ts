/** What commands say about servers that are not there or do not become ready, and which exit status that is. */
import { formatProblem, type LoadedConfig, type ReadyReport } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { exitCode } from './exit-codes.js';
import { nearest } from './nearest.js';
import { plain } from './output.js';
import { onlyServers } from './session.js';

/** The config with that server alone. @throws {BulkheadError} when it is not there or may not run. */
export function oneServer(server: string, config: LoadedConfig): LoadedConfig {
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

/** Exit status when no server became ready. */
export function worst({ failed }: ReadyReport): number {
  const waiting = failed.every(({ state }) => state === 'needs-approval' || state === 'needs-auth');
  return waiting ? exitCode.approval : exitCode.unreachable;
}

export function notReady({ name, state, reason }: ReadyReport['failed'][number]): string {
  const tail = reason?.stderr?.at(-1);
  const said = tail === undefined || reason?.message.includes(tail) ? '' : ` (stderr: ${plain(tail)})`;
  return `server "${plain(name)}" is not ready (${state})${reason === undefined ? '' : `: ${plain(reason.message)}`}${said}`;
}
