/**
 * Whose the directory and the socket are. Only the user may reach a control socket: the kernel keeps others out of a
 * 0700 directory, and we trust no path that somebody else could have put there.
 */
import { type BigIntStats, chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { BulkheadError } from '@bulkhead/workers/errors';

/** Bits of the group and of others. */
const FOREIGN = 0o077n;

/** Makes the directory, 0700. @throws {BulkheadError} `DENIED` when it is another user's, or is no directory. */
export function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = factsOf(directory);
  if (!found.isDirectory()) throw foreign(directory, 'is not a directory');
  checkOwner(directory, found.uid);
  if (hasModes && (found.mode & FOREIGN) !== 0n) chmodSync(directory, 0o700);
}

/**
 * Of a directory or a socket that is about to be used.
 * @throws {BulkheadError} `DENIED` naming the path when it is not this user's alone. Other errors are the file system's.
 */
export function checkPrivate(path: string, kind: 'directory' | 'socket'): void {
  const found = factsOf(path);
  const right = kind === 'directory' ? found.isDirectory() : found.isSocket();
  if (hasModes && !right) throw foreign(path, `is not a ${kind}`);
  checkOwner(path, found.uid);
  if (hasModes && (found.mode & FOREIGN) !== 0n) {
    const mode = (found.mode & 0o777n).toString(8);
    throw foreign(path, `is open to other users (mode ${mode}); close it with: chmod go= ${path}`);
  }
}

/**
 * As big integers, and not only because of inodes: Node keeps the numbers of the last `lstat` in one array, and after
 * that of a socket its module loader stops to resolve symbolic links (`realpathSync` takes its own path for a socket).
 */
export function factsOf(path: string): BigIntStats {
  return lstatSync(path, { bigint: true });
}

const hasModes = process.platform !== 'win32';

function checkOwner(path: string, uid: bigint): void {
  const own = process.getuid?.();
  if (own !== undefined && uid !== BigInt(own)) throw foreign(path, `belongs to user ${uid}, not to ${own}`);
}

function foreign(path: string, why: string): BulkheadError {
  return new BulkheadError('DENIED', `the control socket is not used: ${path} ${why}`);
}
