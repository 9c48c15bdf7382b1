/**
 * Where control sockets lie and what they are called: one JSON entry `NAME.json` a runtime in a 0700 directory of the
 * user, and beside it the socket. A unix socket's path holds about a hundred bytes, so long names become short hashes,
 * and a long directory makes way for a private one in the temporary directory.
 */
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { BulkheadError } from '@bulkhead/workers/errors';
import { stateDir, stateHome } from '../places.js';

/** The smallest limit of the systems we run on (macOS: 104 with the final NUL). */
const PATH_MAX_BYTES = 103;
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/;

/** `$XDG_RUNTIME_DIR/bulkhead/control`, else `~/.local/state/bulkhead/run/control`. */
export function controlDir(): string {
  return join(stateDir(), 'control');
}

/** @throws {BulkheadError} `BAD_INPUT` for what cannot be the name of a file everywhere. */
export function checkName(name: string): string {
  if (NAME.test(name)) return name;
  throw new BulkheadError(
    'BAD_INPUT',
    `expected the name of a control socket to be 1 to 64 of A-Z a-z 0-9 . _ - (no leading . or -), got "${name}"`,
  );
}

/** Where a detached resident writes what it has to say. */
export function residentLog(name: string): string {
  return join(stateHome(), 'residents', `${checkName(name)}.log`);
}

export function entryPath(name: string, directory: string = controlDir()): string {
  return join(directory, `${checkName(name)}.json`);
}

/** Same name, same path, on every call with the same environment. */
export function socketPath(name: string, directory: string = controlDir()): string {
  const short = `${hash(name).slice(0, 16)}.sock`;
  const fitting = [join(directory, `${checkName(name)}.sock`), join(directory, short)].find(fits);
  return (
    fitting ??
    join(tmpdir(), `bulkhead-${process.getuid?.() ?? 0}`, `${hash(directory + name).slice(0, 16)}.sock`)
  );
}

/** A path of its own beside `socket`, as long as it at most, or at least as one of the shortest. */
export function draftPath(socket: string, mark: string): string {
  return join(dirname(socket), `.${mark}`);
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= PATH_MAX_BYTES;
}

/**
 * The name of the resident of a project: readable, and another one for other files.
 * @param projectDir without symbolic links.
 * @param files those named by hand, absolute; empty when the usual ones count.
 */
export function defaultName(projectDir: string, files: readonly string[]): string {
  const readable = basename(projectDir)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  const mark = hash(JSON.stringify([projectDir, ...files])).slice(0, 8);
  return `${readable === '' ? 'project' : readable}-${mark}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
