/** Directories of a runtime: a private one for sockets, one for logs. */
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A fresh 0700 directory; short, because a unix socket path holds about 100 bytes. */
export function makeRunDir(): string {
  return mkdtempSync(join(tmpdir(), 'bulkhead-'));
}

const stateHome = () => join(process.env.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'bulkhead');

/** Where run files lie: which groups belong to which host process. */
export function stateDir(): string {
  return join(
    process.env.XDG_RUNTIME_DIR ?? stateHome(),
    process.env.XDG_RUNTIME_DIR === undefined ? 'run' : 'bulkhead',
  );
}

/** Where catalogs of earlier runs lie. */
export function cacheDir(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'bulkhead', 'catalogs');
}

/** `<project>/.bulkhead/logs` for a project, else below the state home. Created 0700, kept out of git. */
export function makeLogDir(wanted: string | undefined, projectDir: string | undefined): string {
  const directory =
    wanted ?? (projectDir === undefined ? join(stateHome(), 'logs') : join(projectDir, '.bulkhead', 'logs'));
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const ignore = join(dirname(directory), '.gitignore');
    if (wanted === undefined && projectDir !== undefined && !existsSync(ignore)) writeFileSync(ignore, '*\n');
    return directory;
  } catch {
    // A read-only project still runs: its logs go to a private directory.
    return mkdtempSync(join(tmpdir(), 'bulkhead-logs-'));
  }
}
