/**
 * Entries judged as they are written. A variable that is not set yet is no mistake of an entry: the person may set it
 * before the server starts, and may decide about the server before that.
 */
import type { EntryValue } from './entry-edit.js';
import { loadConfig, resolveServers } from './load.js';
import type { ConfigProblem, LoadConfigOptions, LoadedConfig, LoadedServer } from './types.js';

/** What is wrong with an entry, without starting anything. */
export interface EntryCheck {
  /** Errors and warnings; with an error the server could not run, whatever is set. */
  problems: ConfigProblem[];
  /** Variables that it names and that are not set, sorted. */
  unset: string[];
}

/**
 * What is wrong with one `mcpServers` entry, without starting anything.
 * @param baseDir where relative paths of the entry start: see `configPlace()`.
 */
export function checkEntry(
  name: string,
  entry: EntryValue,
  baseDir: string,
  env: NodeJS.ProcessEnv = process.env,
): EntryCheck {
  const servers = new Map([[name, entry]]);
  const { problems } = resolveServers(servers, { cwd: baseDir, env });
  const unset = unsetIn(problems);
  const assumed = resolveServers(servers, { cwd: baseDir, env: assuming(unset, env) });
  return { problems: assumed.problems.filter(({ server }) => server === name), unset };
}

/** The config, and the servers in it that only lack variables: for showing and deciding, never for running. */
export async function loadAsWritten(
  options: LoadConfigOptions = {},
): Promise<{ config: LoadedConfig; lacking: LoadedServer[] }> {
  const config = await loadConfig(options);
  const unset = unsetIn(config.problems);
  if (unset.length === 0) return { config, lacking: [] };
  const assumed = await loadConfig({ ...options, env: assuming(unset, options.env ?? process.env) });
  const names = new Set(config.rejected.map(({ name }) => name));
  return { config, lacking: assumed.servers.filter(({ name }) => names.has(name)) };
}

function unsetIn(problems: readonly ConfigProblem[]): string[] {
  return [...new Set(problems.flatMap(({ variable }) => variable ?? []))].sort();
}

function assuming(unset: readonly string[], env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, ...Object.fromEntries(unset.map((variable) => [variable, 'x'])) };
}
