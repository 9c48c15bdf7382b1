/**
 * Replaces a file of a person's at once or not at all: a draft beside it, synced, renamed over it, mode and owner kept,
 * links followed to what they name. Whoever else changed the file meanwhile is noticed.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  access,
  constants,
  mkdir,
  open,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { approvalsDir } from '../places.js';

export interface FileState {
  /** Where the bytes lie: the end of every symbolic link. */
  target: string;
  /** Undefined when there is no file yet. */
  bytes: Uint8Array | undefined;
}

/** The file was changed by another program between reading and writing it. */
export class FileChanged extends Error {
  override readonly name = 'FileChanged';
}

const LOCK_STALE_MS = 10_000;
const LOCK_PAUSE_MS = 50;

export async function readState(path: string): Promise<FileState> {
  const target = await endOfLinks(path);
  return { target, bytes: await readIfThere(target) };
}

/**
 * @param mode of a file that is not there yet; one that is keeps its own.
 * @throws {FileChanged} when the file does not hold `state.bytes` any more.
 */
export async function replaceFile(
  { target, bytes: expected }: FileState,
  bytes: Uint8Array,
  mode: number,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const old = expected === undefined ? undefined : await stat(target);
  // A rename would get past the file's own write protection.
  if (old !== undefined) await access(target, constants.W_OK);
  const draft = `${target}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      if (old !== undefined) await file.chown(old.uid, old.gid).catch(() => {});
      await file.chmod(old === undefined ? mode & ~process.umask() : old.mode & 0o7777);
      await file.sync();
    } finally {
      await file.close();
    }
    if (!same(await readIfThere(target), expected)) throw new FileChanged(target);
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Runs `work` while no other program of this user edits the same file. The lock lies apart, not in a project. */
export async function alone<T>(path: string, work: () => Promise<T>): Promise<T> {
  const directory = join(dirname(approvalsDir()), 'locks');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const key = createHash('sha256')
    .update(await endOfLinks(path))
    .digest('hex')
    .slice(0, 32);
  // Loaded here: whoever only runs servers edits no file.
  const { default: lockfile } = await import('proper-lockfile');
  const release = await lockfile.lock(join(directory, key), {
    realpath: false,
    stale: LOCK_STALE_MS,
    retries: { retries: (2 * LOCK_STALE_MS) / LOCK_PAUSE_MS, factor: 1, minTimeout: LOCK_PAUSE_MS },
    // The default throws from a timer. A lost lock only means that the comparison before the rename decides.
    onCompromised: () => {},
  });
  try {
    return await work();
  } finally {
    await release().catch(() => {});
  }
}

async function endOfLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // Missing, or a link to a file that is not there yet.
  const next = await readlink(path).catch(() => undefined);
  if (next !== undefined) return endOfLinks(resolve(dirname(path), next));
  const parent = await realpath(dirname(path)).catch(() => undefined);
  return parent === undefined ? resolve(path) : join(parent, basename(path));
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function same(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
}
