/**
 * A small JSON file that several programs of one user read and change: decisions of a person. Writes are atomic and
 * start from what the file holds at that moment, so the last writer loses nobody's members. A file that cannot be
 * understood holds nothing; it is copied aside before anything is written in its place.
 */
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BulkheadError } from '@bulkhead/workers';

/** Members of an object; a Map, because names in it are foreign. */
export type Members = Map<string, unknown>;

const FORMAT = 1;

export class StateFile {
  readonly path: string;
  readonly #warn: (message: string) => void;
  /** Writes of this program, one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  /** @param warn is told when the file cannot be used. */
  constructor(path: string, warn: (message: string) => void) {
    this.path = path;
    this.#warn = warn;
  }

  /** What the file holds; empty when it is missing or unusable. Never rejects. */
  async read(): Promise<Members> {
    try {
      const { members, damage } = await this.#load();
      if (damage !== undefined) this.#warn(`${this.path} ${damage}; nothing in it counts`);
      return members;
    } catch (error) {
      this.#warn(`${this.path} cannot be read (${(error as Error).message}); nothing in it counts`);
      return new Map();
    }
  }

  /**
   * Reads, changes, writes.
   * @throws {BulkheadError} `INTERNAL` when the file cannot be read or written: the decision holds for this program only.
   */
  update(change: (members: Members) => void): Promise<void> {
    const turn = this.#writing.then(() => this.#update(change));
    this.#writing = turn.catch(() => {});
    return turn;
  }

  async #update(change: (members: Members) => void): Promise<void> {
    try {
      const { members, damage } = await this.#load();
      if (damage !== undefined) {
        const copy = `${this.path}.bad`;
        await copyFile(this.path, copy);
        this.#warn(`${this.path} ${damage}; it starts anew, the old one is kept as ${copy}`);
      }
      change(members);
      await this.#write(`${JSON.stringify(plain(new Map([['version', FORMAT], ...members])), null, 2)}\n`);
    } catch (cause) {
      const message = `${this.path} cannot be written (${(cause as Error).message}); the decision is not kept`;
      throw new BulkheadError('INTERNAL', message, { cause });
    }
  }

  async #load(): Promise<{ members: Members; damage?: string }> {
    let text: string;
    try {
      text = await readFile(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { members: new Map() };
      throw error;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { members: new Map(), damage: 'is not valid JSON' };
    }
    const members = membersOf(value);
    if (members?.get('version') !== FORMAT) {
      return { members: new Map(), damage: `is not of version ${FORMAT} of this format` };
    }
    members.delete('version');
    return { members };
  }

  /** A reader sees the old file or the new one, never a part. */
  async #write(text: string): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const draft = `${this.path}.${randomBytes(6).toString('hex')}`;
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, this.path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }
}

/** The members of a JSON object (or of a Map); undefined for every other value. */
export function membersOf(value: unknown): Members | undefined {
  if (value instanceof Map) return value as Members;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return new Map(Object.entries(value));
}

/** The object below `key`, made when it is missing or something else; changes of it are changes of `parent`. */
export function memberOf(parent: Members, key: string): Members {
  const found = membersOf(parent.get(key)) ?? new Map<string, unknown>();
  parent.set(key, found);
  return found;
}

function plain(value: unknown): unknown {
  if (!(value instanceof Map)) return value;
  // fromEntries defines members: a server called `__proto__` stays one.
  return Object.fromEntries([...value].map(([key, member]) => [key, plain(member)]));
}
