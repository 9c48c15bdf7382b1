/** Where a runtime keeps what it needs on disk: a private directory for sockets, and those of logs, state, approvals and caches. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, isAbsolute, join } from 'node:path';

/** A fresh 0700 directory; short, because a unix socket path holds about 100 bytes. */
export function makeRunDir(): string {
  return mkdtempSync(join(tmpdir(), 'bulkhead-'));
}

/** An XDG base directory; a relative or empty one counts as unset (basedir-spec). */
function baseDir(variable: string): string | undefined {
  const value = process.env[variable];
  return value !== undefined && isAbsolute(value) ? value : undefined;
}

/** What is kept of this user over reboots. */
export const stateHome = () =>
  join(baseDir('XDG_STATE_HOME') ?? join(homedir(), '.local', 'state'), 'bulkhead');

/** Where run files lie: which groups belong to which host process. */
export function stateDir(): string {
  const runtimeDir = baseDir('XDG_RUNTIME_DIR');
  return runtimeDir === undefined ? join(stateHome(), 'run') : join(runtimeDir, 'bulkhead');
}

/** Where the decisions of a person are kept: approvals, remembered permissions, pinned tool definitions. */
export function approvalsDir(): string {
  return join(stateHome(), 'approvals');
}

/** Where catalogs of earlier runs lie. */
export function cacheDir(): string {
  return join(baseDir('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'bulkhead', 'catalogs');
}

/**
 * `<project>/.bulkhead/logs` where the project has that directory, else one below the state home that bears the
 * project's name: nobody who makes a single call wants a new directory in his project. Created 0700.
 */
export function makeLogDir(wanted: string | undefined, projectDir: string | undefined): string {
  const directory = wanted ?? logDirOf(projectDir);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return directory;
  } catch {
    // A read-only place still runs: its logs go to a private directory.
    return mkdtempSync(join(tmpdir(), 'bulkhead-logs-'));
  }
}

function logDirOf(projectDir: string | undefined): string {
  const logs = join(stateHome(), 'logs');
  if (projectDir === undefined) return logs;
  const own = join(projectDir, '.bulkhead');
  if (existsSync(own)) return join(own, 'logs');
  // Two projects of one name must not share their logs.
  const mark = createHash('sha256').update(projectDir).digest('hex').slice(0, 8);
  return join(logs, `${basename(projectDir)}-${mark}`);
}
