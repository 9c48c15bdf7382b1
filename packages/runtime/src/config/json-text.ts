/**
 * How a JSON text is written: encoding, line ends, indentation, taken from a file that is there already so that what is
 * added looks like the rest of it. Pure.
 */
import { decodeText } from './document.js';

export interface TextForm {
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
  bom: boolean;
  eol: '\n' | '\r\n';
  /** One step of indentation. */
  unit: string;
}

/** Arrays of texts stand on one line up to this length, as people write `args`. */
const MAX_INLINE_CHARS = 100;

export const newFileForm: TextForm = { encoding: 'utf-8', bom: false, eol: '\n', unit: '  ' };

/** Text and form of a file; undefined when it is no text that {@link encodeText} would give back byte for byte. */
export function readText(bytes: Uint8Array): { text: string; form: TextForm } | undefined {
  const text = decodeText(bytes);
  if (text === undefined) return undefined;
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  const bom = encoding !== 'utf-8' || (first === 0xef && second === 0xbb && bytes[2] === 0xbf);
  const eol = /\r\n/.test(text) ? '\r\n' : '\n';
  const form: TextForm = { encoding, bom, eol, unit: /\n([ \t]+)["/]/.exec(text)?.[1] ?? '  ' };
  return Buffer.compare(encodeText(text, form), bytes) === 0 ? { text, form } : undefined;
}

export function encodeText(text: string, { encoding, bom }: TextForm): Buffer {
  const marked = bom ? `\ufeff${text}` : text;
  if (encoding === 'utf-8') return Buffer.from(marked, 'utf8');
  const bytes = Buffer.from(marked, 'utf16le');
  return encoding === 'utf-16be' ? bytes.swap16() : bytes;
}

/** JSON of a value over several lines, its first line without indentation. Maps are objects. */
export function writeBlock(value: unknown, indent: string, form: Pick<TextForm, 'eol' | 'unit'>): string {
  const { eol, unit } = form;
  const inner = indent + unit;
  const block = (open: string, parts: readonly string[], close: string): string =>
    `${open}${eol}${parts.map((part) => inner + part).join(`,${eol}`)}${eol}${indent}${close}`;
  if (Array.isArray(value)) {
    const line = writeLine(value, ' ');
    const flat = value.every((part) => typeof part !== 'object' || part === null);
    if (value.length === 0 || (flat && line.length <= MAX_INLINE_CHARS)) return line;
    return block(
      '[',
      value.map((part) => writeBlock(part, inner, form)),
      ']',
    );
  }
  const members = membersOf(value);
  if (members === undefined || members.length === 0) return writeLine(value, ' ');
  return block(
    '{',
    members.map(([key, part]) => `${JSON.stringify(key)}: ${writeBlock(part, inner, form)}`),
    '}',
  );
}

/** JSON of a value on one line; `gap` stands behind every comma and colon. */
export function writeLine(value: unknown, gap: '' | ' '): string {
  if (Array.isArray(value)) return `[${value.map((part) => writeLine(part, gap)).join(`,${gap}`)}]`;
  const members = membersOf(value);
  if (members === undefined) return JSON.stringify(value) ?? 'null';
  const parts = members.map(([key, part]) => `${JSON.stringify(key)}:${gap}${writeLine(part, gap)}`);
  return `{${parts.join(`,${gap}`)}}`;
}

function membersOf(value: unknown): [string, unknown][] | undefined {
  if (value instanceof Map) return [...(value as Map<string, unknown>)];
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value)
    : undefined;
}
