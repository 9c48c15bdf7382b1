/**
 * Taking a name: of several that start at once exactly one gets it, and a socket that a killed runtime left behind is
 * no obstacle. A server listens on a path of its own first; the hard link to the final path is the step that only one
 * can take.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { BulkheadError } from '@bulkhead/workers/errors';
import { controlDir, draftPath, socketPath } from './control-places.js';
import { listEntries } from './entries.js';
import { factsOf, makePrivate } from './owner.js';

/** How often a start looks again while another one clears a dead socket away. */
const LOOK_AGAIN_MS = 20;
const ATTEMPTS = 200;
/** Clearing takes a moment; who holds the right to it longer was killed meanwhile. */
const CLEARING_MS = 2_000;

/**
 * Lets `server` listen on the socket of `name`, 0600 in a 0700 directory.
 * @returns the path of the socket.
 * @throws {BulkheadError} `BAD_INPUT` when a living runtime has the name; `DENIED` when the directory is another user's.
 */
export async function claim(name: string, server: Server): Promise<string> {
  if (process.platform === 'win32') {
    throw new BulkheadError(
      'UNSUPPORTED',
      'there is no control socket on Windows, where no socket is one user’s alone',
    );
  }
  const directory = controlDir();
  const path = socketPath(name, directory);
  makePrivate(directory);
  if (dirname(path) !== directory) makePrivate(dirname(path));
  const draft = draftPath(path, randomBytes(4).toString('hex'));
  await listening(server, draft);
  try {
    chmodSync(draft, 0o600);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (linked(draft, path)) return path;
      if (await answers(path)) throw taken(name);
      if (!(await clear(path))) await wait(LOOK_AGAIN_MS);
    }
    throw new BulkheadError(
      'INTERNAL',
      `control socket "${name}": ${path} could not be taken; remove it by hand`,
    );
  } catch (error) {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Whether the path still is the socket that was claimed. */
export function isOwn(path: string, inode: bigint): boolean {
  try {
    return factsOf(path).ino === inode;
  } catch {
    return false;
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether somebody listens there. */
export function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // Only these two say that nobody is there; a full backlog, for one, is a sign of life.
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT' && code !== 'ENOTSOCK'),
    );
  });
}

/**
 * Removes a dead socket. One at a time may, and looks again first: else a slow one could remove what a quick one has
 * just put there. Whether it was this one.
 */
async function clear(path: string): Promise<boolean> {
  const right = `${path}.clearing`;
  try {
    mkdirSync(right, { mode: 0o700 });
  } catch {
    if (ageMs(right) > CLEARING_MS) removeDirectory(right);
    return false;
  }
  try {
    if (!(await answers(path))) rmSync(path, { force: true });
    return true;
  } finally {
    removeDirectory(right);
  }
}

function removeDirectory(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // somebody else was quicker
  }
}

function ageMs(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function taken(name: string): BulkheadError {
  const pid = listEntries().find((entry) => entry.name === name)?.pid;
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  return new BulkheadError(
    'BAD_INPUT',
    `control socket "${name}" is taken by ${who}; choose another name, or end that one: bulkhead down --resident ${name}`,
    { data: { kind: 'name-taken', ...(pid === undefined ? {} : { pid }) } },
  );
}
