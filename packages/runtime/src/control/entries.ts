/**
 * The entries of the directory of control sockets: which runtimes there are, where they listen and what they run. An
 * entry is written by the runtime that owns the name; whoever finds one whose process is gone removes it.
 */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { controlDir, entryPath } from './control-places.js';
import { checkPrivate } from './owner.js';

/** A running runtime that can be reached, as its file in the control directory tells it. */
export interface ControlEntry {
  name: string;
  pid: number;
  /** Of the language that it speaks; see `CONTROL_PROTOCOL`. */
  protocol: number;
  socket: string;
  /** ISO 8601. */
  startedAt: string;
  /** Directory of the project, without symbolic links. */
  project?: string;
  /** Config files named by hand, absolute; absent when the usual ones count. */
  files?: string[];
}

export function writeEntry(entry: ControlEntry, directory: string = controlDir()): void {
  const path = entryPath(entry.name, directory);
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(entry), { mode: 0o600 });
  renameSync(draft, path);
}

/** Takes an entry out of the directory; one that is gone already is no error. */
export function removeEntry(name: string, directory: string = controlDir()): void {
  rmSync(entryPath(name, directory), { force: true });
}

/**
 * The entry of a runtime whose process lives; undefined when there is none, or none that can be read.
 * @throws {BulkheadError} `DENIED` when the directory is not this user's alone.
 */
export function readEntry(name: string, directory: string = controlDir()): ControlEntry | undefined {
  const path = entryPath(name, directory);
  try {
    checkPrivate(directory, 'directory');
    const entry = parse(readFileSync(path, 'utf8'));
    if (entry === undefined || entry.name !== name) return undefined;
    if (isAlive(entry.pid)) return entry;
    rmSync(path, { force: true });
    rmSync(entry.socket, { force: true });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** All of them, sorted by name. @throws {BulkheadError} as {@link readEntry}. */
export function listEntries(directory: string = controlDir()): ControlEntry[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return [];
  }
  return names
    .filter((file) => /^\w[\w.-]{0,63}\.json$/.test(file))
    .sort()
    .flatMap((file) => readEntry(file.slice(0, -'.json'.length), directory) ?? []);
}

function parse(text: string): ControlEntry | undefined {
  try {
    const { name, pid, protocol, socket, startedAt, project, files } = JSON.parse(text);
    const whole =
      typeof name === 'string' &&
      Number.isSafeInteger(pid) &&
      pid > 0 &&
      typeof protocol === 'number' &&
      typeof socket === 'string' &&
      typeof startedAt === 'string';
    if (!whole) return undefined;
    return {
      name,
      pid,
      protocol,
      socket,
      startedAt,
      ...(typeof project === 'string' ? { project } : {}),
      ...(Array.isArray(files) ? { files: files.map(String) } : {}),
    };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
