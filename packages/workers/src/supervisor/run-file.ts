/**
 * The run file: which process groups this host runs, so that the next start can end what a killed host left behind.
 * One file per host process; a group is only ended if its leader is the very process that was recorded (same start).
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { signalGroup } from './process-group.js';
import { startOf } from './process-start.js';

const processMark = z.object({ pid: z.number().int().positive(), started: z.string().min(1) });
const runRecord = z.object({ host: processMark, groups: z.array(processMark) });
type RunRecord = z.infer<typeof runRecord>;

const UNKNOWN = 'unknown';

export class RunFile {
  readonly #file: string;
  readonly #record: RunRecord;

  /** @param directory shared by all runtimes of this user; created 0700. */
  constructor(directory: string, id: string) {
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch {
      // as for a full disk below
    }
    this.#file = join(directory, `${process.pid}-${id}.json`);
    this.#record = { host: { pid: process.pid, started: startOf(process.pid) ?? UNKNOWN }, groups: [] };
  }

  add(pid: number): void {
    this.#record.groups.push({ pid, started: startOf(pid) ?? UNKNOWN });
    this.#write();
  }

  remove(pid: number): void {
    this.#record.groups = this.#record.groups.filter((group) => group.pid !== pid);
    this.#write();
  }

  end(): void {
    try {
      rmSync(this.#file, { force: true });
    } catch {
      // a directory that is none
    }
  }

  #write(): void {
    try {
      writeFileSync(`${this.#file}.new`, JSON.stringify(this.#record), { mode: 0o600 });
      renameSync(`${this.#file}.new`, this.#file);
    } catch {
      // a full disk costs this safety net, never the server
    }
  }
}

/** Ends the groups of hosts that are dead. Returns the groups it signalled. Never throws. */
export function reapLeftovers(directory: string): number[] {
  const reaped: number[] = [];
  for (const name of listOwn(directory)) {
    const file = join(directory, name);
    try {
      const { host, groups } = runRecord.parse(JSON.parse(readFileSync(file, 'utf8')));
      // Alive, or nobody can tell: a host that could not read its own start must not be taken for dead.
      if (host.started === UNKNOWN || startOf(host.pid) === host.started) continue;
      for (const { pid, started } of groups) {
        if (startOf(pid) !== started) continue; // gone, or the number belongs to somebody else now
        signalGroup(pid, 'SIGKILL');
        reaped.push(pid);
      }
      rmSync(file, { force: true });
    } catch {
      // torn or foreign: leave it
    }
  }
  return reaped;
}

/** Files that belong to this user: nobody else may name processes for us to kill. */
function listOwn(directory: string): string[] {
  try {
    const own = (path: string) => process.getuid === undefined || statSync(path).uid === process.getuid();
    if (!own(directory)) return [];
    return readdirSync(directory).filter((name) => name.endsWith('.json') && own(join(directory, name)));
  } catch {
    return [];
  }
}
