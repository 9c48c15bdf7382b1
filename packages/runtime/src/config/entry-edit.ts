/**
 * Adds, replaces and removes one entry in the text of a config file, and touches nothing else: comments, order, blank
 * lines and every other member stay as they are. (`modify()` of jsonc-parser lays out whole lines anew, which takes
 * one-line entries of other servers apart and moves a comment to another server.) Pure.
 */
import { applyEdits, createScanner, type Edit, type Node, parseTree } from 'jsonc-parser';
import { type TextForm, writeBlock, writeLine } from './json-text.js';

/** Of `SyntaxKind` in jsonc-parser, a const enum that cannot be imported here. */
const token = { comma: 5, lineBreak: 14, blank: 15, end: 17 } as const;

/** An entry as it is to be written; Maps keep foreign names. */
export type EntryValue = Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>;

/** The text with the entry `name`; one that is there is replaced where it stands. */
export function withEntry(text: string, name: string, value: EntryValue, form: TextForm): string {
  const root = rootOf(text);
  const section = sectionOf(root);
  const next =
    section === undefined
      ? applyEdits(text, insertion(text, root, 'mcpServers', new Map([[name, value]]), form))
      : applyEdits(text, placement(text, section, name, value, form));
  return proved(text, next, (entries) => {
    // Of a name that stands twice the last one counts, and is the one that was replaced.
    const at = entries.findLastIndex(([key]) => key === name);
    const written: Member = [name, comparable(rootOf(writeLine(value, '')))];
    return at === -1 ? [...entries, written] : entries.with(at, written);
  });
}

/** The text without the entry `name`; one that stands twice goes twice. */
export function withoutEntry(text: string, name: string): string {
  let next = text;
  for (;;) {
    const section = sectionOf(rootOf(next));
    const index = section?.children?.findIndex((member) => keyOf(member) === name) ?? -1;
    if (section === undefined || index === -1) break;
    next = applyEdits(next, removal(next, section, index));
  }
  return proved(text, next, (entries) => entries.filter(([key]) => key !== name));
}

/** The object that holds the entries: `mcpServers`, or `servers` where only that is read. */
export function sectionOf(root: Node): Node | undefined {
  const named = (key: string) => root.children?.findLast((member) => keyOf(member) === key)?.children?.[1];
  return named('mcpServers') ?? named('servers');
}

function placement(text: string, section: Node, name: string, value: EntryValue, form: TextForm): Edit[] {
  const member = section.children?.findLast((candidate) => keyOf(candidate) === name);
  const old = member?.children?.[1];
  if (member === undefined || old === undefined) return insertion(text, section, name, value, form);
  const inLine = !text.slice(section.offset, section.offset + section.length).includes('\n');
  const content = inLine
    ? writeLine(value, gapOf(text, member))
    : writeBlock(value, indentAt(text, member.offset), form);
  return [{ offset: old.offset, length: old.length, content }];
}

/** Edits that append a member to an object. */
function insertion(text: string, object: Node, key: string, value: unknown, form: TextForm): Edit[] {
  const open = object.offset;
  const close = open + object.length - 1;
  const last = object.children?.at(-1);
  const from = last === undefined ? open + 1 : last.offset + last.length;
  const { comma, end } = tail(text, from, close);
  const name = JSON.stringify(key);
  if (last !== undefined && !text.slice(open, close).includes('\n')) {
    const gap = gapOf(text, last);
    const content = `${comma === undefined ? ',' : ''}${gap}${name}:${gap}${writeLine(value, gap)}`;
    return [{ offset: end, length: 0, content: comma === undefined ? content : `${content},` }];
  }
  const indent =
    last !== undefined && isFirstInLine(text, last.offset)
      ? indentAt(text, last.offset)
      : indentAt(text, open) + form.unit;
  const rest = text.slice(end, close);
  const closing = rest.includes('\n') ? '' : `${form.eol}${indentAt(text, open)}`;
  const member = `${form.eol}${indent}${name}: ${writeBlock(value, indent, form)}`;
  const needed = last !== undefined && comma === undefined ? ',' : '';
  const added: Edit = {
    offset: end,
    length: closing === '' ? 0 : rest.length,
    content: `${member}${comma === undefined ? '' : ','}${closing}`,
  };
  // A comment behind the last member stays with it: the comma goes before, the new member behind.
  if (needed !== '' && end !== from) return [{ offset: from, length: 0, content: needed }, added];
  return [{ ...added, content: needed + added.content }];
}

function removal(text: string, object: Node, index: number): Edit[] {
  const members = object.children ?? [];
  const member = members[index];
  if (member === undefined) return [];
  const previous = members[index - 1];
  const next = members[index + 1];
  const close = object.offset + object.length - 1;
  const end = member.offset + member.length;
  const { comma } = tail(text, end, next?.offset ?? close);
  const edits: Edit[] = [];
  let from = member.offset;
  let to = comma === undefined ? end : comma + 1;
  // Between its own comma and itself there may be a comment.
  if (comma !== undefined && text.slice(end, comma).trim() !== '') {
    edits.push({ offset: comma, length: 1, content: '' });
    to = end;
  }
  if (comma === undefined && previous !== undefined) {
    const before = previous.offset + previous.length;
    const orphan = tail(text, before, member.offset).comma;
    if (orphan !== undefined && /^[ \t]*$/.test(text.slice(orphan + 1, from))) from = orphan;
    else if (orphan !== undefined) edits.push({ offset: orphan, length: 1, content: '' });
  }
  const lineStart = text.lastIndexOf('\n', from - 1) + 1;
  const blankTail = /^[ \t]*(?:\r?\n|$)/.exec(text.slice(to, lineEnd(text, to)));
  if (text.slice(lineStart, from).trim() === '' && blankTail !== null) {
    from = lineStart;
    to += blankTail[0].length;
  } else {
    const isLast = next === undefined && !isFirstInLine(text, from);
    while (isLast && (text[from - 1] === ' ' || text[from - 1] === '\t')) from--;
    const glued = next !== undefined || isFirstInLine(text, from);
    while (glued && (text[to] === ' ' || text[to] === '\t')) to++;
  }
  edits.push({ offset: from, length: to - from, content: '' });
  if (members.length > 1) return edits;
  const inside = `${text.slice(object.offset + 1, from)}${text.slice(to, close)}`;
  return inside.trim() === ''
    ? [{ offset: object.offset + 1, length: close - object.offset - 1, content: '' }]
    : edits;
}

/** What stands from `from` to `to`, which hold no value: the comma, and where the last comma or comment ends. */
function tail(text: string, from: number, to: number): { comma: number | undefined; end: number } {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let comma: number | undefined;
  let end = from;
  for (let kind: number = scanner.scan(); kind !== token.end; kind = scanner.scan()) {
    const offset = scanner.getTokenOffset();
    if (offset >= to) break;
    if (kind === token.blank || kind === token.lineBreak) continue;
    if (kind === token.comma) comma = offset;
    end = offset + scanner.getTokenLength();
  }
  return { comma, end };
}

type Member = [key: string, value: unknown];

/** The edited text, once it is certain that it holds what it should and nothing else changed. */
function proved(before: string, after: string, change: (entries: Member[]) => Member[]): string {
  const expected = shape(before, change);
  if (JSON.stringify(expected) !== JSON.stringify(shape(after, (entries) => entries))) {
    throw new Error('the edit would have changed more than its entry, so nothing was written');
  }
  return after;
}

function shape(text: string, change: (entries: Member[]) => Member[]): Member[] {
  const root = rootOf(text);
  const members = comparable(root) as Member[];
  const section = sectionOf(root);
  if (section === undefined) return [...members, ['mcpServers', change([])]];
  const at = root.children?.findIndex((member) => member.children?.[1] === section) ?? -1;
  return members.map(([key, value], index) => [key, index === at ? change(value as Member[]) : value]);
}

/** Objects as lists of members: order and members that stand twice count. */
function comparable(node: Node | undefined): unknown {
  if (node?.type === 'array') return ['array', ...(node.children ?? []).map(comparable)];
  if (node?.type !== 'object') return node?.value;
  return (node.children ?? []).map((member): Member => [keyOf(member), comparable(member.children?.[1])]);
}

function rootOf(text: string): Node {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new Error('the text holds no JSON');
  return root;
}

function keyOf(member: Node): string {
  return String(member.children?.[0]?.value);
}

function gapOf(text: string, member: Node): '' | ' ' {
  return member.colonOffset !== undefined && text[member.colonOffset + 1] === ' ' ? ' ' : '';
}

function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

function isFirstInLine(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset).trim() === '';
}

function lineEnd(text: string, offset: number): number {
  const at = text.indexOf('\n', offset);
  return at === -1 ? text.length : at + 1;
}
