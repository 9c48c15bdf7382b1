/** The config with what a person decided about the servers of the project. Nothing is started, nothing expanded leaves. */
import {
  ApprovalStore,
  type ConfigProblem,
  type LoadedConfig,
  type LoadedServer,
  loadAsWritten,
  needsApproval,
} from '@bulkhead/runtime';
import type { CommonOptions, Context } from './context.js';
import { asNamed } from './session.js';

export type ServerStanding = 'enabled' | 'disabled' | 'needs-approval' | 'invalid';

export interface StandingServer {
  name: string;
  standing: ServerStanding;
  /** Undefined for an invalid entry, unless it only lacks variables; then it is not for running. */
  server?: LoadedServer;
  problem?: ConfigProblem;
  /** What differs from what was approved; empty when nothing was. */
  changes: readonly string[];
  /** It needs an approval that it does not have. */
  waits: boolean;
}

export interface Standings {
  config: LoadedConfig;
  store: ApprovalStore;
  /** Sorted by name. */
  servers: StandingServer[];
}

/** @param trusted the person vouches for the files of this project, so nothing in them waits. */
export async function readStandings(
  { config: files = [] }: CommonOptions,
  { output }: Context,
  { trusted = false }: { trusted?: boolean } = {},
): Promise<Standings> {
  const { config: loaded, lacking } = await loadAsWritten(files.length > 0 ? { files } : {});
  const config = trusted ? asNamed(loaded) : loaded;
  const store = await ApprovalStore.open(config.projectDir, (message) => output.note(`warning: ${message}`));
  const concerned = [...config.servers, ...lacking].filter(needsApproval);
  const known = concerned.length === 0 ? new Map<string, never>() : await store.standings(concerned);
  const about = (server: LoadedServer) => {
    const decided = known.get(server.name);
    const changes = decided?.is === 'changed' ? decided.changes : [];
    return { name: server.name, server, changes, waits: decided !== undefined && decided.is !== 'approved' };
  };
  const servers = config.servers.map((server): StandingServer => {
    const { waits, ...rest } = about(server);
    const standing = server.spec.disabled ? 'disabled' : waits ? 'needs-approval' : 'enabled';
    return { ...rest, standing, waits };
  });
  for (const { name, problem } of config.rejected) {
    const server = lacking.find((candidate) => candidate.name === name);
    const rest = server === undefined ? { name, changes: [], waits: false } : about(server);
    servers.push({ ...rest, standing: 'invalid', problem });
  }
  servers.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { config, store, servers };
}
