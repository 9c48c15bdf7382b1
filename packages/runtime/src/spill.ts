/**
 * The directory of one runtime for results that were spilled to files. Its name says which process it belongs to, so
 * that a later start can remove what a killed host left behind. It is made by whoever writes the first file.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readlinkSync, rmSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startOf } from '@bulkhead/workers';

const UNKNOWN = 'unknown';
const NAME = /^bulkhead-spill-(?<realm>[0-9a-f]{8})-(?<pid>\d+)-(?<started>[0-9a-f]{8}|unknown)-/;

/** Realm, pid and start of this process: what never changes is found out once. */
let own: string | undefined;

export class SpillPlace {
  /** Absolute; not there before the first result is spilled. */
  readonly directory: string;
  readonly #parent: string;

  /** @param parent default `os.tmpdir()`. */
  constructor(parent: string = tmpdir()) {
    this.#parent = resolve(parent);
    own ??= `${realm()}-${process.pid}-${startMark(process.pid) ?? UNKNOWN}`;
    this.directory = join(this.#parent, `bulkhead-spill-${own}-${randomUUID().slice(0, 8)}`);
  }

  /** Removes the directories of processes that are dead. Never rejects; what cannot be judged stays. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#parent).catch(() => []);
    const here = realm();
    for (const name of names) {
      const { realm: place, pid, started } = NAME.exec(name)?.groups ?? {};
      if (place !== here || started === undefined || started === UNKNOWN) continue;
      if (startMark(Number(pid)) === started) continue;
      await removeOwn(join(this.#parent, name)).catch(() => {});
    }
  }

  /** At the end of the runtime. Synchronous, because a program that exits has no later. */
  remove(): void {
    try {
      rmSync(this.directory, { recursive: true, force: true });
    } catch {
      // the sweep of a later start tries again
    }
  }
}

/** A directory that merely looks like ours, or a link, is not followed and not removed. */
async function removeOwn(path: string): Promise<void> {
  const { uid } = await lstat(path);
  if (process.getuid !== undefined && uid !== process.getuid()) return;
  await rm(path, { recursive: true, force: true });
}

/**
 * Where a pid means something: this machine, and on Linux this namespace. Containers and machines may share a directory
 * and must not take each other's processes for dead.
 */
function realm(): string {
  let namespace = '';
  try {
    namespace = readlinkSync('/proc/self/ns/pid');
  } catch {
    // not Linux: the machine is enough
  }
  return hash(`${hostname()}\n${namespace}`);
}

function startMark(pid: number): string | undefined {
  const started = startOf(pid);
  return started === undefined ? undefined : hash(started);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
