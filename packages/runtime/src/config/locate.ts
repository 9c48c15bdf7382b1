/**
 * Which config files count, in order of precedence (later wins), and which directory their relative paths start
 * from. Reads nothing: it only names paths.
 */
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Scope } from './types.js';

export interface FileLocation {
  /** Absolute. */
  path: string;
  scope: Scope;
  /** A missing file is an error (it was named) instead of empty (it was looked for). */
  required: boolean;
}

export interface LocateInput {
  /** Absolute project directory. */
  cwd: string;
  home: string;
  xdgConfigHome?: string | undefined;
  files?: readonly string[] | undefined;
  userFile?: boolean | undefined;
}

/** User < project < local, or the explicit files in their order (with the user file below when asked for). */
export function locateFiles({ cwd, home, xdgConfigHome, files, userFile }: LocateInput): FileLocation[] {
  const found: FileLocation[] = [];
  if (userFile ?? files === undefined) {
    found.push({ path: userConfigPath(home, xdgConfigHome), scope: 'user', required: false });
  }
  if (files === undefined) {
    found.push({ path: join(cwd, '.mcp.json'), scope: 'project', required: false });
    found.push({ path: join(cwd, '.bulkhead', 'mcp.local.json'), scope: 'local', required: false });
  } else {
    for (const file of files) found.push({ path: resolve(cwd, file), scope: 'file', required: true });
  }
  // A file named twice counts once, at its last place.
  return found.filter((file, index) => found.findLastIndex(({ path }) => path === file.path) === index);
}

/** `$XDG_CONFIG_HOME/bulkhead/mcp.json`; a relative `XDG_CONFIG_HOME` is to be ignored (XDG base directories). */
export function userConfigPath(home: string, xdgConfigHome?: string): string {
  const base =
    xdgConfigHome !== undefined && isAbsolute(xdgConfigHome) ? xdgConfigHome : join(home, '.config');
  return join(base, 'bulkhead', 'mcp.json');
}

/** The base of relative paths in a file: its directory; for files inside `.bulkhead/` the project around it. */
export function baseDirOf(path: string): string {
  const dir = dirname(path);
  return basename(dir) === '.bulkhead' ? dirname(dir) : dir;
}

/** Scopes with a file of their own, which commands may write. */
export const writableScopes = ['user', 'project', 'local'] as const;
/** Whose file it is. */
export type WritableScope = (typeof writableScopes)[number];

/** A configuration file that can be written. */
export interface ConfigPlace {
  /** Absolute. */
  path: string;
  /** Where relative paths in the file start from. */
  baseDir: string;
}

/** The file of a scope; `cwd` is the project. */
export function configPlace(
  scope: WritableScope,
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): ConfigPlace {
  const project = resolve(cwd);
  const home = (process.platform === 'win32' ? env.USERPROFILE : env.HOME) || homedir();
  const files = locateFiles({ cwd: project, home, xdgConfigHome: env.XDG_CONFIG_HOME });
  const path = files.find((file) => file.scope === scope)?.path ?? '';
  return { path, baseDir: baseDirOf(path) };
}

/** A file that a person names. */
export function filePlace(file: string, cwd: string): ConfigPlace {
  const path = resolve(cwd, file);
  return { path, baseDir: baseDirOf(path) };
}
