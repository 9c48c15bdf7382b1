/**
 * One line as JSON-RPC: what it is, whose answer it is, and whether its envelope holds. Never throws: a line is protocol,
 * noise, or an answer that is known to be unusable, so that its caller hears at once instead of waiting for a timeout.
 */
import {
  deeperThan,
  elementSpans,
  isBlank,
  type Span,
  skipBlanks,
  valueEnd,
  walkMembers,
} from '../json-span.js';
import { readableLine } from './noise.js';

export type Incoming =
  | {
      kind: 'response';
      id: number;
      /** The exact JSON text of this message, and the same as UTF-8. */
      text: string;
      bytes: Buffer;
      /** Holds either a `result` that is an object or an `error` with a code and a message. */
      value: Record<string, unknown>;
      /** The id came as a string (`"7"`). */
      coerced: boolean;
    }
  /** A result of {@link LARGE_BYTES} and more: found and measured, but not parsed here. */
  | { kind: 'large'; id: number; bytes: Buffer; result: Span; isError: boolean }
  | { kind: 'request'; id: number | string; method: string; value: Record<string, unknown> }
  | { kind: 'notification'; method: string; value: Record<string, unknown> }
  /** An answer that cannot be used; `id` null when it names no call. */
  | { kind: 'invalid'; id: number | null; reason: string };

export type LineReading =
  /** `batch`: they came wrapped in an array. Empty for a blank line. */
  | { kind: 'messages'; messages: Incoming[]; batch: boolean }
  /** Not protocol; `text` is readable and at most 500 characters. */
  | { kind: 'noise'; text: string };

/**
 * From this size on a result is not parsed but scanned: a string or an object graph of that size in the thread's heap
 * could end the whole process (V8 cannot unwind from an allocation inside JSON.parse), and nobody here needs it.
 */
export const LARGE_BYTES = 1024 * 1024;

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** `bytes` is one line; `maxDepth` the deepest nesting that is parsed (deeper values overflow stacks later on). */
export function readLine(bytes: Buffer, limits: { maxDepth: number }): LineReading {
  const line = withoutMargins(bytes);
  const first = line[0];
  if (first === undefined) return { kind: 'messages', messages: [], batch: false };
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return noise(line);
  // A line of n bytes nests at most n / 2 deep, so short ones are not even looked at.
  if (line.length > 2 * limits.maxDepth && deeperThan(line, limits.maxDepth)) {
    const problem = salvage(line.toString('latin1'), `it nests deeper than ${limits.maxDepth} levels`);
    return problem === undefined ? noise(line) : { kind: 'messages', messages: [problem], batch: false };
  }
  if (line.length >= LARGE_BYTES) {
    const large = readLarge(line);
    if (large !== undefined) return { kind: 'messages', messages: [large], batch: false };
    if (heavierThan(line, MAX_WEIGHT)) {
      const problem = salvage(line.toString('latin1'), 'it holds too many values to be parsed safely');
      return problem === undefined ? noise(line) : { kind: 'messages', messages: [problem], batch: false };
    }
  }
  const text = line.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const messages = readJoined(text, `it is not valid JSON (${(error as SyntaxError).message})`);
    return messages.length === 0 ? noise(line) : { kind: 'messages', messages, batch: false };
  }
  if (Array.isArray(value)) return readBatch(value, text, line);
  const message = readMessage(value as Record<string, unknown>, text, line);
  return message === undefined ? noise(line) : { kind: 'messages', messages: [message], batch: false };
}

/**
 * A large answer by its outline, if it is an ordinary one: a version, an id, a result that is an object, nothing else.
 * Latin-1 keeps the offsets of bytes, and such a string lies outside the heap.
 */
function readLarge(line: Buffer): Incoming | undefined {
  const text = line.toString('latin1');
  const members = new Map<string, Span>();
  const complete = walkMembers(text, 0, (name, span, whole) => {
    if (whole) members.set(name, span);
  });
  const slice = (name: string) => {
    const span = members.get(name);
    return span === undefined ? undefined : text.slice(span.start, span.end);
  };
  const result = members.get('result');
  const id = members.has('id') ? parsedId(slice('id') ?? '') : undefined;
  const ordinary =
    complete && slice('jsonrpc') === '"2.0"' && !members.has('error') && !members.has('method');
  if (!ordinary || id === undefined || result === undefined || text[result.start] !== '{') return undefined;
  let isError = false;
  walkMembers(text, result.start, (name, span) => {
    if (name === 'isError') isError = text.slice(span.start, span.end) === 'true';
  });
  return { kind: 'large', id, bytes: line, result, isError };
}

/** Values that a message may hold to be parsed: each one costs heap, 40 bytes and more however short its text. */
const MAX_WEIGHT = 2_000_000;

/** Counts commas and opening brackets, those in strings too: an upper bound of the values. */
export function heavierThan(bytes: Buffer, maxValues: number): boolean {
  let values = 0;
  for (const mark of [0x2c, OPEN_BRACE, OPEN_BRACKET]) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) {
      if (++values > maxValues) return true;
    }
  }
  return false;
}

/** A large answer parsed after all; undefined when that is not safe or it is no JSON. */
export function parseLarge(bytes: Buffer): Record<string, unknown> | undefined {
  return heavierThan(bytes, MAX_WEIGHT) ? undefined : parsed(bytes.toString());
}

/** Whether the line is the header of LSP framing (`Content-Length: N`), which MCP over stdio does not use. */
export function looksLikeContentLength(bytes: Buffer): boolean {
  return /^\s*content-length:\s*\d/i.test(withoutMargins(bytes).toString('latin1', 0, 64));
}

/**
 * The call that a cut message answers: its top-level id, if that stands in the prefix. An id inside `result` is never
 * taken for it, nor is the id of a request of the server.
 */
export function sniffId(prefix: Buffer): number | undefined {
  return survey(withoutMargins(prefix).toString('latin1')).id;
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────

function readBatch(values: unknown[], text: string, line: Buffer): LineReading {
  const messages: Incoming[] = [];
  let spans: Span[] | undefined;
  for (const [index, value] of values.entries()) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    spans ??= elementSpans(text);
    const own = text.slice(spans[index]?.start, spans[index]?.end);
    const message = readMessage(value as Record<string, unknown>, own);
    if (message !== undefined) messages.push(message);
  }
  if (messages.length > 0) return { kind: 'messages', messages, batch: true };
  const what = values.length === 0 ? 'an empty JSON array' : 'a JSON array without messages';
  return { kind: 'noise', text: `${what}: ${readableLine(line)}`.slice(0, 500) };
}

/** Undefined when the object is not JSON-RPC. In optional members null counts as absent. */
function readMessage(value: Record<string, unknown>, text: string, bytes?: Buffer): Incoming | undefined {
  const isAnswer = (value.result ?? value.error) !== undefined && (value.result ?? value.error) !== null;
  const method = value.method ?? undefined;
  if (value.jsonrpc !== '2.0') {
    const id = callId(value.id);
    if (id === undefined || method !== undefined || !('result' in value || 'error' in value))
      return undefined;
    return { kind: 'invalid', id, reason: `its jsonrpc member is ${show(value.jsonrpc)} instead of "2.0"` };
  }
  if (isAnswer || method === undefined) return readResponse(value, text, bytes);
  if (typeof method !== 'string') return invalid(`its method is ${show(method)}, not a string`);
  const { id } = value;
  const bare = without(value, ['id', 'params', 'result', 'error']);
  if (id === undefined || id === null) return { kind: 'notification', method, value: bare };
  if (typeof id === 'number' || typeof id === 'string') return { kind: 'request', id, method, value: bare };
  return invalid(`it is a request whose id is ${show(id)}`);
}

function readResponse(value: Record<string, unknown>, text: string, bytes?: Buffer): Incoming {
  const id = callId(value.id);
  const problem = responseProblem(value);
  if (id === undefined) {
    const about = value.error === undefined ? '' : `; its error is ${show(value.error)}`;
    return invalid(`it answers no call: its id is ${show(value.id)}${about}`);
  }
  if (problem !== undefined) return { kind: 'invalid', id, reason: problem };
  return {
    kind: 'response',
    id,
    text,
    bytes: bytes ?? Buffer.from(text),
    value: without(value, ['result', 'error', 'method']),
    coerced: typeof value.id === 'string',
  };
}

function responseProblem({ result, error }: Record<string, unknown>): string | undefined {
  const hasResult = result !== undefined && result !== null;
  const hasError = error !== undefined && error !== null;
  if (hasResult && hasError) return 'it has both a result and an error';
  if (hasResult) return isObject(result) ? undefined : `its result is ${show(result)}, not an object`;
  if (!hasError) return result === null ? 'its result is null' : 'it has neither a result nor an error';
  if (!isObject(error)) return `its error is ${show(error)}, not an object`;
  if (!Number.isInteger(error.code)) return `its error has no integer code: ${show(error)}`;
  if (typeof error.message !== 'string') return `its error has no message: ${show(error)}`;
  return undefined;
}

/** The id of one of our calls: they are integers, and some servers send them back as strings. */
function callId(id: unknown): number | undefined {
  if (typeof id === 'number') return Number.isSafeInteger(id) ? id : undefined;
  if (typeof id === 'string' && /^(?:0|[1-9]\d{0,15})$/.test(id)) return callId(Number(id));
  return undefined;
}

// ── lines that cannot be parsed ─────────────────────────────────────────────────────────────────────────────────

/**
 * Threads of a server that print without a lock join messages on one line: each whole one counts. What cannot be parsed
 * (cut, or with `NaN` inside) is at least told to its caller.
 */
function readJoined(text: string, problem: string): Incoming[] {
  const messages: Incoming[] = [];
  let at = 0;
  while (text[at] === '{') {
    const end = valueEnd(text, at);
    const piece = end === -1 ? text.slice(at) : text.slice(at, end);
    const value = end === -1 ? undefined : parsed(piece);
    const message = value === undefined ? salvage(piece, problem) : readMessage(value, piece);
    if (message !== undefined) messages.push(message);
    if (end === -1) break;
    at = skipBlanks(text, end);
  }
  return messages;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function salvage(text: string, reason: string): Incoming | undefined {
  const { id, jsonrpc } = survey(text);
  return id === undefined || !jsonrpc ? undefined : { kind: 'invalid', id, reason };
}

/** What the top level tells, as far as the text goes. `id` is absent unless the message may be an answer. */
function survey(text: string): { id: number | undefined; jsonrpc: boolean } {
  let id: number | undefined;
  let jsonrpc = false;
  let asks = false;
  walkMembers(text, 0, (name, { start, end }, whole) => {
    if (name === 'method' || name === 'params') asks = true;
    else if (name === 'id' && whole) id = parsedId(text.slice(start, end));
    else if (name === 'jsonrpc' && whole) jsonrpc = text.slice(start, end) === '"2.0"';
  });
  return { id: asks ? undefined : id, jsonrpc };
}

function parsedId(text: string): number | undefined {
  return callId(/^"\d+"$/.test(text) ? text.slice(1, -1) : Number(text));
}

// ── pieces ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Without a byte order mark in front and blanks around. */
function withoutMargins(bytes: Buffer): Buffer {
  let start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  let end = bytes.length;
  while (start < end && isBlank(bytes[start])) start++;
  while (end > start && isBlank(bytes[end - 1])) end--;
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}

function noise(line: Buffer): LineReading {
  return { kind: 'noise', text: readableLine(line) };
}

function invalid(reason: string): Incoming {
  return { kind: 'invalid', id: null, reason };
}

/** A copy without those of the named members that are null; the value itself when none is. */
function without(value: Record<string, unknown>, names: string[]): Record<string, unknown> {
  if (!names.some((name) => value[name] === null)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key, own]) => own !== null || !names.includes(key)),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
