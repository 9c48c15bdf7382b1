/**
 * One config file: its bytes decoded, its JSONC parsed, its entries taken out with the line of every field.
 * Objects become Maps on the way, because their keys are foreign: a server may be called `__proto__`.
 */
import { type Node, type ParseError, parseTree } from 'jsonc-parser';
import { kindOf, type RawEntry, rawEntry } from './entry.js';
import { closest } from './keys.js';
import type { ConfigProblem } from './types.js';

export interface ConfigDocument {
  entries: Map<string, RawEntry>;
  problems: ConfigProblem[];
}

const sample = '{"mcpServers": {"name": {"command": "node", "args": ["server.js"]}}}';

/** UTF-8 with or without BOM, UTF-16 with BOM. Undefined when the bytes are neither. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    // The decoder drops the BOM itself.
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Entries of one file. Never throws: whatever is wrong with the file is in `problems`. */
export function readDocument(file: string, bytes: Uint8Array): ConfigDocument {
  const document: ConfigDocument = { entries: new Map(), problems: [] };
  const add = (severity: ConfigProblem['severity'], line: number, message: string, hint?: string) =>
    document.problems.push({ severity, file, line, message, ...(hint === undefined ? {} : { hint }) });

  const text = decodeText(bytes);
  if (text === undefined) {
    add('error', 1, 'the file is not UTF-8 text', 'save it as UTF-8 (UTF-16 works with a byte order mark)');
    return document;
  }
  if (text.trim() === '') {
    add('error', 1, 'the file is empty', `write {"mcpServers": {}}, or delete the file`);
    return document;
  }
  const lineAt = lineIndex(text);
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch {
    add('error', 1, 'the file is nested too deeply to be read', `its form is ${sample}`);
    return document;
  }
  const [error] = errors;
  if (error !== undefined || root === undefined) {
    const offset = error?.offset ?? 0;
    const cut = text.slice(offset).trim() === '';
    const message = cut
      ? 'the file ends in the middle: a bracket or a value is missing'
      : `not valid JSON: ${syntaxMessage(error?.error)}`;
    const hint = cut
      ? 'complete it, or restore it from a backup'
      : 'nothing of this file is used until it is mended';
    add('error', lineAt(cut ? text.trimEnd().length : offset), message, hint);
    return document;
  }
  readServers(root);
  return document;

  function readServers(top: Node): void {
    if (top.type !== 'object') {
      add('error', 1, `expected an object at the top, got ${kindOf(plain(top))}`, `its form is ${sample}`);
      return;
    }
    const members = membersOf(top);
    const own = members.get('mcpServers');
    const foreign = members.get('servers');
    const section = own ?? foreign;
    if (section === undefined) {
      explainMissing(top, members);
      return;
    }
    if (foreign !== undefined) {
      const line = lineAt(foreign.offset);
      if (own === undefined)
        add('warning', line, '`servers` is read as `mcpServers`', 'rename it to "mcpServers"');
      else
        add(
          'warning',
          line,
          '`servers` is not read beside `mcpServers`',
          'move its entries into "mcpServers"',
        );
    }
    const value = memberValue(section);
    if (value?.type !== 'object') {
      const name = own === undefined ? 'servers' : 'mcpServers';
      const got = kindOf(value === undefined ? undefined : plain(value));
      add(
        'error',
        lineAt(section.offset),
        `expected \`${name}\` to be an object, got ${got}`,
        `its form is ${sample}`,
      );
      return;
    }
    for (const [name, member] of membersOf(value)) {
      const lines = new Map<string, number>();
      const entry = memberValue(member);
      const content = entry === undefined ? undefined : toValue(entry, [], lines, name);
      document.entries.set(name, rawEntry(name, content, lineAt(member.offset), lines));
    }
  }

  function explainMissing(top: Node, members: Map<string, Node>): void {
    const names = [...members.keys()];
    if (names.length === 0) {
      add('warning', lineAt(top.offset), 'the file has no `mcpServers`', `its form is ${sample}`);
      return;
    }
    const entryLike = names.find((name) => {
      const value = memberValue(members.get(name));
      return (value?.children ?? []).some((inner) => ['command', 'url'].includes(inner.children?.[0]?.value));
    });
    const misspelt = closest('mcpServers', names) ?? names.find((name) => /^mcp/i.test(name));
    const hint =
      entryLike !== undefined
        ? `"${entryLike}" looks like a server: put it inside {"mcpServers": {…}}`
        : misspelt !== undefined
          ? `"${misspelt}" is not read: its form is ${sample}`
          : `its form is ${sample}`;
    const first = members.get(entryLike ?? misspelt ?? '') ?? top;
    add('error', lineAt(first.offset), 'the file has no `mcpServers`', hint);
  }

  /** Properties by key; of a key that stands twice the last one counts, as in every JSON parser. */
  function membersOf(object: Node, place?: string): Map<string, Node> {
    const members = new Map<string, Node>();
    for (const member of object.children ?? []) {
      const key: unknown = member.children?.[0]?.value;
      if (typeof key !== 'string') continue;
      const before = members.get(key);
      if (before !== undefined) {
        const where = place === undefined ? `"${key}"` : `"${key}" of server "${place}"`;
        const lines = `lines ${lineAt(before.offset)} and ${lineAt(member.offset)}`;
        add(
          'warning',
          lineAt(member.offset),
          `${where} stands twice (${lines}); the last one counts`,
          'remove one',
        );
      }
      members.set(key, member);
    }
    return members;
  }

  function toValue(node: Node, path: string[], lines: Map<string, number>, server: string): unknown {
    if (node.type === 'array') {
      return (node.children ?? []).map((child, index) => {
        const childPath = [...path, String(index)];
        lines.set(JSON.stringify(childPath), lineAt(child.offset));
        return toValue(child, childPath, lines, server);
      });
    }
    if (node.type !== 'object') return node.value as unknown;
    const map = new Map<string, unknown>();
    for (const [key, member] of membersOf(node, server)) {
      const childPath = [...path, key];
      lines.set(JSON.stringify(childPath), lineAt(member.offset));
      const value = memberValue(member);
      map.set(key, value === undefined ? undefined : toValue(value, childPath, lines, server));
    }
    return map;
  }
}
function memberValue(member: Node | undefined): Node | undefined {
  return member?.children?.[1];
}

/** Enough of a value to name its kind. */
function plain(node: Node): unknown {
  return node.type === 'object' ? new Map() : node.type === 'array' ? [] : node.value;
}

/** 1-based line of an offset, by binary search. */
function lineIndex(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

/** Codes of jsonc-parser in words. */
function syntaxMessage(code: number | undefined): string {
  const messages = new Map([
    [1, 'an unknown word'],
    [2, 'a number is malformed'],
    [3, 'a property name in double quotes is expected'],
    [4, 'a value is expected'],
    [5, 'a colon is expected'],
    [6, 'a comma is expected'],
    [7, 'a closing brace is expected'],
    [8, 'a closing bracket is expected'],
    [9, 'there is more text after the end'],
    [11, 'a comment does not end'],
    [12, 'a text does not end'],
    [13, 'a number does not end'],
    [14, 'a \\u escape is malformed'],
    [15, 'an escape (\\) in a text is unknown; write \\\\ for a backslash'],
    [16, 'a control character stands in a text'],
  ]);
  return messages.get(code ?? 0) ?? 'a character that cannot stand here';
}
