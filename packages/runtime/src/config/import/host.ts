/**
 * What one other host is for the import: where its files lie, where in them the servers stand, and how an entry of its
 * is said in our words. Values are Maps in place of objects, because their keys are foreign.
 */
import { join } from 'node:path';

/** Hosts whose configuration can be read, by the names that `bulkhead import` takes. */
export const importHosts = ['claude', 'claude-desktop', 'cursor', 'vscode', 'codex', 'gemini'] as const;
/** A host whose configuration can be read. */
export type ImportHost = (typeof importHosts)[number];

export type Members = ReadonlyMap<string, unknown>;

/** The machine that is looked at. */
export interface ImportContext {
  home: string;
  /** Absolute directory of the project. */
  cwd: string;
  platform: NodeJS.Platform;
  env: ReadonlyMap<string, string>;
}

export interface HostFile {
  path: string;
  /** We read it ourselves, so there is nothing to take from it. */
  isOurs?: boolean;
}

export type Translation =
  | { entry: ReadonlyMap<string, unknown>; notes: string[] }
  /** A sentence part: why it cannot be taken, and what to do instead. */
  | { refused: string };

export interface OtherHost {
  /** Places that are looked at, later ones win. */
  files(context: ImportContext): HostFile[];
  format: 'json' | 'toml';
  /** Servers by name; undefined when the file has no such section. */
  servers(root: Members, context: ImportContext): Members | undefined;
  translate(entry: Members, context: ImportContext): Translation;
}

/** Where programs with windows keep what belongs to one user. */
export function appDirectory({ home, platform, env }: ImportContext): string {
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support');
    case 'win32':
      return env.get('APPDATA') ?? join(home, 'AppData', 'Roaming');
    default:
      return env.get('XDG_CONFIG_HOME') ?? join(home, '.config');
  }
}

export function membersOf(value: unknown): Members | undefined {
  return value instanceof Map ? (value as Members) : undefined;
}

/** Collects the members of an entry that are understood and names those that are not. */
export class Reading {
  readonly entry = new Map<string, unknown>();
  readonly notes: string[] = [];
  readonly #rest: Map<string, unknown>;

  constructor(source: Members) {
    this.#rest = new Map([...source].filter(([, value]) => value !== null && value !== undefined));
  }

  /** The member itself, which counts as understood from now on. */
  value(key: string): unknown {
    const value = this.#rest.get(key);
    this.#rest.delete(key);
    return value;
  }

  /** Copies members that mean the same here. */
  same(...keys: string[]): this {
    for (const key of keys) this.set(key, this.value(key));
    return this;
  }

  set(key: string, value: unknown): void {
    if (value !== undefined) this.entry.set(key, value);
  }

  /** Members that say nothing about how the server runs. */
  ignore(...keys: string[]): this {
    for (const key of keys) this.#rest.delete(key);
    return this;
  }

  /** What is left is told: it was a wish of the person, and it does not come along. */
  done(): Translation {
    for (const key of this.#rest.keys()) this.notes.push(`"${key}" is not taken over`);
    return { entry: this.entry, notes: this.notes };
  }
}

/** The value with every text in it (not the names) given through `change`. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((part) => mapTexts(part, change));
  if (!(value instanceof Map)) return value;
  return new Map([...(value as Members)].map(([key, member]) => [key, mapTexts(member, change)]));
}
