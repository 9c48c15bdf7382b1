/**
 * One hash of everything that a configuration is made from: the project, the text of its files and the variables that
 * they name. Equal marks give equal servers, so a resident may stand in for them. Cheap enough for every command: no
 * file is parsed. Values of variables go into the hash and nowhere else.
 */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { locateFiles } from '../config/locate.js';

/** Where a configuration comes from. */
export interface ConfigSource {
  /** Absolute, without symbolic links. */
  projectDir: string;
  /** Named by hand, absolute; empty when the usual files count. */
  files: readonly string[];
}

/** Variables that give every server another default. */
const DEFAULTS = ['MCP_TIMEOUT', 'MCP_TOOL_TIMEOUT'];
const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)/g;

/**
 * The source for the current directory.
 * @param files as on the command line, relative to the current directory.
 */
export function configSource(files: readonly string[] = []): ConfigSource {
  const projectDir = realpathSync(process.cwd());
  return { projectDir, files: files.map((file) => resolve(projectDir, file)) };
}

/** Every file that counts, or would if it were there. */
export function configPaths({ projectDir, files }: ConfigSource): string[] {
  const home = process.env[process.platform === 'win32' ? 'USERPROFILE' : 'HOME'] || homedir();
  return locateFiles({
    cwd: projectDir,
    home,
    xdgConfigHome: process.env.XDG_CONFIG_HOME,
    files: files.length === 0 ? undefined : files,
  }).map(({ path }) => path);
}

/** A hash of the files and of the variables that they name: two programs with the same mark run the same servers. */
export function configMark(source: ConfigSource): string {
  const hash = createHash('sha256').update(source.projectDir);
  const names = new Set(DEFAULTS);
  for (const path of configPaths(source)) {
    const text = read(path);
    hash.update(`\0${path}\0${text === undefined ? '-' : text.length}\0${text ?? ''}`);
    for (const [, name] of (text ?? '').matchAll(REFERENCE)) if (name !== undefined) names.add(name);
  }
  for (const name of [...names].sort()) hash.update(`\0${name}=${process.env[name] ?? '\0'}`);
  return hash.digest('hex');
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
