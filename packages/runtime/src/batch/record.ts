/**
 * One input line as a call. `id` and `arguments` are cut from the line's own text, so no digit of theirs can change;
 * only the small fields beside them are read as values. Every refusal names the field. Pure.
 */
import { type Span, walkMembers } from '@bulkhead/workers';

/** A line that is a call. */
export interface BatchCall {
  kind: 'call';
  /** JSON text of the line's `id`; `null` when absent. */
  id: string;
  /** Undefined when `tool` is a full name (`mcp__<server>__<tool>`). */
  server: string | undefined;
  tool: string;
  /** JSON text of an object, without line breaks. */
  arguments: string;
  timeoutMs: number | undefined;
  idempotent: boolean;
  /** Calls of one server that have the same run one after the other, in the order of the input. */
  affinity: string | undefined;
}

/** A line that is no call; it still gets its line in the results. */
export interface BadLine {
  kind: 'bad';
  id: string;
  server: string | undefined;
  tool: string | undefined;
  /** What is wrong and where, without the line number. */
  problem: string;
}

/** Fields that people write when they mean `arguments`; ignoring them would run the tool without any. */
const MISTAKEN = ['args', 'params', 'parameters', 'input'];
const SHOWN = 80;
const AFFINITY_CHARS = 256;

/** Reads one line of a batch. Numbers in `arguments` keep their digits: its text is taken over as it stands. */
export function parseRecord(text: string): BatchCall | BadLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return bad(`not JSON: ${(error as Error).message}; received ${excerpt(text)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return bad(`expected an object {"server", "tool", "arguments"}, got ${kindOf(value)}`);
  }
  const fields = value as Record<string, unknown>;
  let idSpan: Span | undefined;
  let argsSpan: Span | undefined;
  // Of a repeated member the last one counts, as in JSON.parse.
  walkMembers(text, 0, (name, span) => {
    if (name === 'id') idSpan = span;
    else if (name === 'arguments') argsSpan = span;
  });
  const cut = (span: Span | undefined): string | undefined =>
    span === undefined ? undefined : singleLine(text.slice(span.start, span.end));
  const { server, tool, timeoutMs, idempotent, affinity } = fields;
  const known: Partial<BadLine> = { id: cut(idSpan) ?? 'null' };
  if (typeof server === 'string') known.server = server;
  if (typeof tool === 'string') known.tool = tool;

  if (typeof tool !== 'string' || tool === '') {
    return bad(`field "tool": expected the name of a tool, got ${kindOf(tool)}`, known);
  }
  if (server !== undefined && (typeof server !== 'string' || server === '')) {
    return bad(`field "server": expected the name of a server, got ${kindOf(server)}`, known);
  }
  if (server === undefined && !tool.startsWith('mcp__')) {
    return bad('field "server" is missing (only a full name mcp__<server>__<tool> goes without it)', known);
  }
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs > 0)) {
    return bad(
      `field "timeoutMs": expected a number of milliseconds above 0, got ${kindOf(timeoutMs)}`,
      known,
    );
  }
  if (idempotent !== undefined && typeof idempotent !== 'boolean') {
    return bad(`field "idempotent": expected true or false, got ${kindOf(idempotent)}`, known);
  }
  if (affinity !== undefined && !isAffinity(affinity)) {
    const expected = `expected a text of 1 to ${AFFINITY_CHARS} characters or a whole number`;
    return bad(`field "affinity": ${expected}, got ${kindOf(affinity)}`, known);
  }
  const args = cut(argsSpan);
  if (args === undefined) {
    const mistaken = MISTAKEN.find((name) => Object.hasOwn(fields, name));
    if (mistaken !== undefined)
      return bad(`field "${mistaken}" is unknown; did you mean "arguments"?`, known);
  } else if (!args.startsWith('{')) {
    return bad(`field "arguments": expected an object, got ${kindOf(fields.arguments)}`, known);
  }
  return {
    kind: 'call',
    id: known.id ?? 'null',
    server,
    tool,
    arguments: args ?? '{}',
    timeoutMs,
    idempotent: idempotent ?? false,
    affinity: affinity === undefined ? undefined : String(affinity),
  };
}

function isAffinity(value: unknown): value is string | number {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'string' && value !== '' && value.length <= AFFINITY_CHARS;
}

/** Line breaks stand only between the tokens of valid JSON, so a blank in their place changes nothing. */
export function singleLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replace(/[\r\n]/g, ' ') : json;
}

/** A {@link BadLine}, with what is known of the call nevertheless. */
export function bad(problem: string, known: Partial<BadLine> = {}): BadLine {
  return { kind: 'bad', id: known.id ?? 'null', server: known.server, tool: known.tool, problem };
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return `the ${typeof value} ${excerpt(JSON.stringify(value))}`;
}

function excerpt(text: string): string {
  return text.length <= SHOWN ? text : `${wellFormed(text.slice(0, SHOWN))}…`;
}

/** Half a character (a lone surrogate) makes JSON that strict parsers refuse. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}
