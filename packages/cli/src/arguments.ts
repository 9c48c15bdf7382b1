/**
 * Arguments of `call`: `key=value`, `key:=json`, `key=@file`, `key:=@file` and `--args`, put together as JSON text in
 * which every value keeps its own digits. Later ones win; pairs win over `--args`. Effects come as arguments.
 */
import { memberSpans } from '@bulkhead/workers/json-span';
import { coerce, propertySchema } from './coerce.js';
import { usageError } from './context.js';

export interface Pair {
  name: string;
  /** The text is JSON, not a value to coerce. */
  isJson: boolean;
  /** `@`: the text is the path of a file that holds the value. */
  isFile: boolean;
  text: string;
}

/** Reads a file (or stdin for `-`) as text; its errors are usage errors that name the path. */
export type ReadText = (path: string) => Promise<string>;

const QUOTING =
  'PowerShell and cmd strip the quotes inside an argument: put the JSON in a file and pass @file, pipe it in and pass -, or write key=value';
const SHOWN = 200;

/** @throws {BulkheadError} `BAD_INPUT` that shows what was received. */
export function parsePair(text: string): Pair {
  const at = text.indexOf('=');
  const isJson = at > 0 && text[at - 1] === ':';
  const name = text.slice(0, isJson ? at - 1 : Math.max(at, 0));
  if (name === '') {
    const hint = /^\s*[{[]/.test(text) ? ` JSON goes to --args. ${QUOTING}.` : '';
    throw usageError(
      `expected key=value, key:=json or key=@file as an argument, received ${excerpt(text)}.${hint}`,
    );
  }
  const value = text.slice(at + 1);
  const isFile = value.startsWith('@');
  return { name, isJson, isFile, text: isFile ? value.slice(1) : value };
}

/** The pairs with their files read. */
export async function readPairs(pairs: readonly Pair[], read: ReadText): Promise<Pair[]> {
  return Promise.all(
    pairs.map(async (pair) => (pair.isFile ? { ...pair, isFile: false, text: await read(pair.text) } : pair)),
  );
}

/**
 * Text of `--args`: JSON itself, `@file`, or `-` for stdin.
 * @throws {BulkheadError} `BAD_INPUT`.
 */
export async function readArgsOption(option: string, read: ReadText): Promise<string> {
  const text =
    option === '-' ? await read('-') : option.startsWith('@') ? await read(option.slice(1)) : option;
  const value = parseJson('--args', text.replace(/^\ufeff/, ''));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usageError(`--args: expected a JSON object, received ${excerpt(text)}`);
  }
  return text.replace(/^\ufeff/, '');
}

/** JSON text of the arguments, on one line. `base` is a valid JSON object. */
export function compose(base: string | undefined, pairs: readonly Pair[], schema: unknown): string {
  const members = new Map<string, string>();
  if (base !== undefined) {
    for (const [name, { start, end }] of memberSpans(base)) members.set(name, base.slice(start, end));
  }
  const seen = new Set<string>();
  for (const { name, isJson, text } of pairs) {
    if (seen.has(name)) {
      throw usageError(`argument "${name}" is given twice; a list is written as ${name}:='["a","b"]'`);
    }
    seen.add(name);
    if (isJson) {
      const json = text.replace(/^\ufeff/, '');
      parseJson(`argument "${name}"`, json);
      members.set(name, json.trim());
    } else {
      members.set(name, coerce(text, propertySchema(schema, name), schema));
    }
  }
  const inner = [...members].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',');
  // Line breaks stand only between the tokens of JSON, and a frame on a pipe is one line.
  return `{${inner}}`.replace(/[\r\n]/g, ' ');
}

function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(
      `${what}: not JSON (${(error as Error).message}). Received ${excerpt(text)}. ${QUOTING}.`,
    );
  }
}

function excerpt(text: string): string {
  return text.length <= SHOWN ? `\`${text}\`` : `\`${text.slice(0, SHOWN)}…\` (${text.length} characters)`;
}
