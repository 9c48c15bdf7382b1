/**
 * A throw-away project directory with a home beside it, filled with config files and read through `loadConfig()`.
 * Contents are objects (written as JSON), texts or bytes (written as they are).
 */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Launch, ServerSpec } from '@bulkhead/workers';
import { expect, onTestFinished } from 'vitest';
import { loadConfig } from '../../packages/runtime/src/config/load.js';
import type {
  ConfigProblem,
  LoadConfigOptions,
  LoadedConfig,
} from '../../packages/runtime/src/config/types.js';

export type Content = string | Uint8Array | Record<string, unknown>;

export interface DirectoryInit {
  /** `~/.config/bulkhead/mcp.json` */
  user?: Content;
  /** `.mcp.json` */
  project?: Content;
  /** `.bulkhead/mcp.local.json` */
  local?: Content;
  /** Further files, by path relative to the project. */
  files?: Record<string, Content>;
}

export interface ConfigDirectory {
  project: string;
  home: string;
  /** Absolute path of something in the project. */
  path(...parts: string[]): string;
  /** Variables of the host: `HOME` and `PATH`, nothing of the machine that runs the test. */
  env: Record<string, string>;
  load(options?: LoadConfigOptions): Promise<LoadedConfig>;
}

export async function configDirectory(init: DirectoryInit = {}): Promise<ConfigDirectory> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'bulkhead-config-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const project = join(root, 'project');
  const home = join(root, 'home');
  await mkdir(project);
  await mkdir(home);
  const write = async (path: string, content: Content) => {
    await mkdir(dirname(path), { recursive: true });
    const raw = typeof content === 'string' || content instanceof Uint8Array;
    await writeFile(path, raw ? content : JSON.stringify(content, null, 2));
  };
  if (init.user !== undefined) await write(join(home, '.config', 'bulkhead', 'mcp.json'), init.user);
  if (init.project !== undefined) await write(join(project, '.mcp.json'), init.project);
  if (init.local !== undefined) await write(join(project, '.bulkhead', 'mcp.local.json'), init.local);
  for (const [path, content] of Object.entries(init.files ?? {})) await write(join(project, path), content);
  const env = { HOME: home, PATH: process.env.PATH ?? '' };
  return {
    project,
    home,
    env,
    path: (...parts) => join(project, ...parts),
    load: (options = {}) => loadConfig({ cwd: project, env, ...options }),
  };
}

/** Loads one project file that holds `servers`. `env` comes on top of `HOME` and `PATH`. */
export async function loadServers(
  servers: Record<string, unknown>,
  env: Record<string, string> = {},
): Promise<LoadedConfig> {
  const directory = await configDirectory({ project: { mcpServers: servers } });
  return directory.load({ env: { ...directory.env, ...env } });
}

export function names(config: LoadedConfig): string[] {
  return config.servers.map(({ name }) => name);
}

export function specOf(config: LoadedConfig, name: string): ServerSpec {
  const server = config.servers.find((candidate) => candidate.name === name);
  expect(server, `server "${name}" among ${JSON.stringify(config.problems)}`).toBeDefined();
  return (server as NonNullable<typeof server>).spec;
}

export function stdioOf(config: LoadedConfig, name: string): Extract<Launch, { type: 'stdio' }> {
  const { launch } = specOf(config, name);
  if (launch.type !== 'stdio') throw new Error(`"${name}" is of type ${launch.type}`);
  return launch;
}

export function remoteOf(config: LoadedConfig, name: string): Exclude<Launch, { type: 'stdio' }> {
  const { launch } = specOf(config, name);
  if (launch.type === 'stdio') throw new Error(`"${name}" is of type stdio`);
  return launch;
}

/** The one problem of a server (or of the file, without a name); fails when there are none or more. */
export function problemOf(config: LoadedConfig, server?: string): ConfigProblem {
  const found = config.problems.filter((problem) => problem.server === server);
  expect(found).toHaveLength(1);
  return found[0] as ConfigProblem;
}
