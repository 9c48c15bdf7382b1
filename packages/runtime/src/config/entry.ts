/**
 * An entry as it was written, before any check: plain values with Maps in place of objects, and the line of every
 * field when it came from a file. Findings about it point at fields by path.
 */

/** One finding about an entry, before it is known in which file the entry stands. */
export interface Finding {
  severity: 'error' | 'warning';
  /** Path of the field inside the entry; empty for the entry itself. */
  path: readonly (string | number)[];
  message: string;
  hint?: string;
  /** The variable that is not set, where that is the matter. */
  variable?: string;
}

export interface RawEntry {
  name: string;
  value: unknown;
  /** 1-based line of a field, or of the nearest one around it; undefined for entries given in code. */
  lineOf(path: readonly (string | number)[]): number | undefined;
}

/** `lines` is keyed by the JSON text of a path of strings. */
export function rawEntry(
  name: string,
  value: unknown,
  line: number,
  lines: ReadonlyMap<string, number>,
): RawEntry {
  return {
    name,
    value,
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        const found = lines.get(JSON.stringify(path.slice(0, length).map(String)));
        if (found !== undefined) return found;
      }
      return line;
    },
  };
}

/** An entry given in code. Only own enumerable keys count, and only as deep as an entry has fields. */
export function codeEntry(name: string, value: unknown): RawEntry {
  return { name, value: toMaps(value, 2), lineOf: () => undefined };
}

function toMaps(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const pairs = value instanceof Map ? [...value] : Object.entries(value);
  return new Map(
    pairs
      .filter(([, member]) => member !== undefined)
      .map(([key, member]): [string, unknown] => [String(key), toMaps(member, depth - 1)]),
  );
}

/** What a value is, for messages: its kind, never its text, which may be a secret. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
