/**
 * What a recording answers: requests with their answers in the order in which they came, by method and params. A request
 * that was made several times is answered the same way, the last answer again and again.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { BulkheadError, isRecord, memberSpans } from '@bulkhead/workers';

/** Text of the `result` or `error` of an answer, as it was recorded. */
export interface RecordedAnswer {
  member: 'result' | 'error';
  text: string;
}

interface Exchange {
  answers: RecordedAnswer[];
  /** How many were given. */
  given: number;
}

/**
 * One server's recorded answers, found by method and params. Repeated ones are given in their order, the last one for
 * good.
 */
export class Recording {
  /** The server whose answers these are. */
  readonly server: string;
  /** By method, then by params. */
  readonly #exchanges = new Map<string, Map<string, Exchange>>();

  constructor(server: string) {
    this.server = server;
  }

  /** Adds the next answer to that request. */
  add(method: string, params: unknown, answer: RecordedAnswer): void {
    const byParams = this.#exchanges.get(method) ?? new Map<string, Exchange>();
    this.#exchanges.set(method, byParams);
    const exchange = byParams.get(keyOf(method, params)) ?? { answers: [], given: 0 };
    byParams.set(keyOf(method, params), exchange);
    exchange.answers.push(answer);
  }

  /** The next answer to that; undefined when it was never asked. */
  answer(method: string, params: unknown): RecordedAnswer | undefined {
    const exchange = this.#exchanges.get(method)?.get(keyOf(method, params));
    if (exchange === undefined) return undefined;
    const answer = exchange.answers[Math.min(exchange.given, exchange.answers.length - 1)];
    exchange.given++;
    return answer;
  }

  /** Whether a request of that method was ever answered. */
  has(method: string): boolean {
    return this.#exchanges.has(method);
  }

  /** How many different requests of that method there are. */
  count(method: string): number {
    return this.#exchanges.get(method)?.size ?? 0;
  }
}

/**
 * Reads the recording of one server.
 * @param server Needed when several were recorded.
 * @throws {BulkheadError} `BAD_INPUT` when the file cannot be read, is no recording, or the server is not in it.
 */
export async function readRecording(file: string, server?: string): Promise<Recording> {
  const recordings = new Map<string, Recording>();
  const open = new Map<string, { method: string; params: unknown }>();
  let line = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      line++;
      if (text.trim() !== '') take(text, recordings, open);
    }
  } catch (cause) {
    const where = line === 0 ? '' : ` (line ${line})`;
    const message = `${file} is no recording that can be read${where}: ${(cause as Error).message}`;
    throw new BulkheadError('BAD_INPUT', message, { cause });
  }
  const names = [...recordings.keys()];
  if (server === undefined && names.length > 1) {
    throw new BulkheadError(
      'BAD_INPUT',
      `${file} holds ${names.length} servers; name one with --server: ${names.join(', ')}`,
    );
  }
  const found = recordings.get(server ?? names[0] ?? '');
  if (found !== undefined) return found;
  const held = names.length === 0 ? 'no answers at all' : names.join(', ');
  throw new BulkheadError(
    'BAD_INPUT',
    server === undefined ? `${file} holds ${held}` : `${file} has no server "${server}"; it holds ${held}`,
  );
}

function take(
  text: string,
  recordings: Map<string, Recording>,
  open: Map<string, { method: string; params: unknown }>,
): void {
  const spans = memberSpans(text);
  const span = spans.get('message');
  if (span === undefined) return;
  const raw = text.slice(span.start, span.end);
  const { server, generation, direction } = JSON.parse(text) as Record<string, unknown>;
  const messages: unknown = JSON.parse(raw);
  // An array is a batch of an old revision; its parts are not told apart in the text.
  if (!isRecord(messages) || typeof server !== 'string') return;
  const key = JSON.stringify([server, generation, messages.id]);
  if (direction === 'out' && typeof messages.method === 'string' && messages.id !== undefined) {
    open.set(key, { method: messages.method, params: messages.params });
    return;
  }
  const asked = open.get(key);
  if (direction !== 'in' || asked === undefined || messages.method !== undefined) return;
  open.delete(key);
  const members = memberSpans(raw);
  for (const member of ['result', 'error'] as const) {
    const part = members.get(member);
    if (part === undefined) continue;
    const recording = recordings.get(server) ?? new Recording(server);
    recordings.set(server, recording);
    recording.add(asked.method, asked.params, { member, text: raw.slice(part.start, part.end) });
  }
}

/** Handshakes differ between clients and are answered alike; `_meta` holds what differs between two calls that are one. */
function keyOf(method: string, params: unknown): string {
  if (method === 'initialize' || method === 'server/discover' || method === 'ping') return '';
  if (!isRecord(params)) return '{}';
  const { _meta, ...asked } = params;
  return JSON.stringify(sorted(asked));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}
