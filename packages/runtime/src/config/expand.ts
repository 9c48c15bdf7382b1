/**
 * `${VAR}` and `${VAR:-default}` in the texts of an entry. Pure: the lookup is an argument.
 *
 * - A default counts when the variable is unset or empty, as in a shell; it may hold `:`, and references of its own.
 * - Values are final: a `${…}` inside a variable's value is not looked at.
 * - `$NAME`, `$$` and shell forms such as `${x%y}` are no references and stay as they are.
 */

export interface Expansion {
  text: string;
  /** Variables that are not set and have no default. */
  missing: string[];
  /** Variables that are set to the empty string and have no default. */
  empty: string[];
  /** `${…}` that is no reference we know, kept as it was. */
  unknown: string[];
}

export type Lookup = (name: string) => string | undefined;

// `${env:NAME}` is how editors write it; it means the same.
const head = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(\}|:-)/y;

/** Defaults inside defaults, at most this deep: the text may come from anyone. */
const MAX_DEPTH = 32;

/** Replaces every reference in `text`, in linear time. What cannot be replaced is listed, never thrown. */
export function expand(text: string, lookup: Lookup): Expansion {
  const found: Expansion = { text: '', missing: [], empty: [], unknown: [] };
  const ends = closingBraces(text);
  found.text = expandRange(0, text.length, 0);
  return found;

  function expandRange(from: number, to: number, depth: number): string {
    let out = '';
    let at = from;
    while (at < to) {
      const start = text.indexOf('${', at);
      if (start === -1 || start >= to) break;
      out += text.slice(at, start);
      head.lastIndex = start;
      const match = head.exec(text);
      const bodyStart = head.lastIndex;
      const end = ends.get(start);
      if (match?.[1] === undefined || end === undefined || depth === MAX_DEPTH) {
        found.unknown.push(excerpt(text.slice(start, end === undefined ? undefined : end + 1)));
        out += '${';
        at = start + 2;
        continue;
      }
      const name = match[1];
      const value = lookup(name);
      if (match[2] === ':-') {
        // A default that is not used must not fail the entry, so it is expanded only when it counts.
        out += value || expandRange(bodyStart, end, depth + 1);
      } else if (value === undefined) {
        found.missing.push(name);
      } else {
        if (value === '') found.empty.push(name);
        out += value;
      }
      at = end + 1;
    }
    return out + text.slice(at, to);
  }
}

/** For every `${` the `}` that ends it, past all nested ones; both by offset. */
function closingBraces(text: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '$' && text[at + 1] === '{') {
      open.push(at);
      at++;
    } else if (text[at] === '}') {
      const start = open.pop();
      if (start !== undefined) ends.set(start, at);
    }
  }
  return ends;
}

function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** `~` and `~/x` with the home directory in place of the tilde; `~user/x` and `a~b` stay as they are. */
export function expandTilde(text: string, home: string): string {
  if (text === '~') return home;
  return text.startsWith('~/') || text.startsWith('~\\') ? home + text.slice(1) : text;
}
