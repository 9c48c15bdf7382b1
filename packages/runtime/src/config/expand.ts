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

/** Replaces every reference in `text`. What cannot be replaced is listed, never thrown. */
export function expand(text: string, lookup: Lookup): Expansion {
  const found: Expansion = { text: '', missing: [], empty: [], unknown: [] };
  found.text = expandInto(text, lookup, found);
  return found;
}

function expandInto(text: string, lookup: Lookup, found: Expansion): string {
  let out = '';
  let at = 0;
  while (at < text.length) {
    const start = text.indexOf('${', at);
    if (start === -1) break;
    out += text.slice(at, start);
    head.lastIndex = start;
    const match = head.exec(text);
    const bodyStart = head.lastIndex;
    const end = match?.[2] === ':-' ? closingBrace(text, bodyStart) : bodyStart - 1;
    if (match?.[1] === undefined || end === -1) {
      const close = text.indexOf('}', start);
      found.unknown.push(text.slice(start, close === -1 ? undefined : close + 1));
      out += '${';
      at = start + 2;
      continue;
    }
    const name = match[1];
    const value = lookup(name);
    if (match[2] === ':-') {
      // A default that is not used must not fail the entry, so it is expanded only when it counts.
      out += value || expandInto(text.slice(bodyStart, end), lookup, found);
    } else if (value === undefined) {
      found.missing.push(name);
    } else {
      if (value === '') found.empty.push(name);
      out += value;
    }
    at = end + 1;
  }
  return out + text.slice(at);
}

/** The `}` that ends a default, past every nested `${…}`; -1 when there is none. */
function closingBrace(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text.startsWith('${', at)) {
      depth++;
      at++;
    } else if (text[at] === '}') {
      if (depth === 0) return at;
      depth--;
    }
  }
  return -1;
}

/** `~` and `~/x` with the home directory in place of the tilde; `~user/x` and `a~b` stay as they are. */
export function expandTilde(text: string, home: string): string {
  if (text === '~') return home;
  return text.startsWith('~/') || text.startsWith('~\\') ? home + text.slice(1) : text;
}
