/**
 * Sends one HTTP request and gives the head of its answer: connections and proxies, configured headers, redirects.
 * Nothing here times out by itself, apart from connecting: calls have deadlines of their own, and a stream may be idle
 * for hours (undici's defaults would cut both after 300 s).
 */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { BulkheadError } from '../../errors.js';
import { excerpt, type Failure, HttpFailure, networkFailure, shownUrl, statusFailure } from './failure.js';
import { plainRequest } from './plain-request.js';
import { redirectOf } from './redirect.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** How much of an error's body is read, and for how long. */
const ERROR_BODY_BYTES = 64 * 1024;
const ERROR_BODY_MS = 2_000;

export interface HttpRequest {
  method: 'POST' | 'GET' | 'DELETE';
  url: URL;
  /** On top of the configured ones, and stronger. */
  headers: [string, string][];
  body?: string;
  signal: AbortSignal;
  /** 0, the default: wait for ever. */
  headersTimeoutMs?: number;
}

export interface HttpReply {
  status: number;
  /** Lower case, without parameters; empty when absent. */
  mediaType: string;
  sessionId: string | undefined;
  /** Where the request went in the end. */
  url: URL;
  /** Set when the server says that it has moved for good. */
  movedTo: URL | undefined;
  body: AsyncIterable<Uint8Array> & { cancel(): Promise<void> };
}

export class HttpClient {
  readonly #dispatcher: Dispatcher;
  readonly #fetch: FetchLike;
  readonly #configured: Map<string, string>;
  readonly #secrets: string[];

  /**
   * `url` decides about the proxy: this machine is reached directly. `wrap` may add credentials to every request and
   * throw a {@link BulkheadError} instead of giving a refusal.
   */
  constructor(url: URL, headers: [string, string][], wrap?: (base: FetchLike) => FetchLike) {
    const options = { bodyTimeout: 0, headersTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
    this.#dispatcher = isLoopback(url) ? new Agent(options) : new EnvHttpProxyAgent(options);
    const base = plainRequest(this.#dispatcher);
    this.#fetch = wrap === undefined ? base : wrap(base);
    this.#configured = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
    this.#secrets = headers.flatMap(([, value]) => [value, ...value.split(' ')]);
    if (url.username !== '' && !this.#configured.has('authorization')) {
      const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
      this.#configured.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    }
  }

  /** @throws {HttpFailure} no answer, or a redirect that is not followed. */
  async send(wanted: HttpRequest): Promise<HttpReply> {
    const headers = Object.fromEntries(new Map([...this.#configured, ...wanted.headers]));
    let url = wanted.url;
    let movedTo: URL | undefined;
    for (let hops = 0; ; hops++) {
      const answer = await this.#once(wanted, url, headers);
      const location = answer.headers.get('location') ?? undefined;
      const hop = redirectOf(answer.status, location, url, wanted.method, hops);
      const body = answer.body ?? EMPTY;
      if (hop === undefined) {
        return {
          status: answer.status,
          mediaType: (answer.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '',
          sessionId: answer.headers.get('mcp-session-id') ?? undefined,
          url,
          movedTo,
          body,
        };
      }
      discard(body);
      if ('refuse' in hop) {
        const where = `${wanted.method} ${shownUrl(url)}`;
        throw new HttpFailure({
          kind: 'config',
          code: 'BAD_CONFIG',
          message: `${where}: ${hop.refuse}`,
          data: { status: answer.status, url: shownUrl(url), ...(location && { location }) },
        });
      }
      url = hop.follow;
      if (hop.permanent) movedTo = url;
    }
  }

  async #once(wanted: HttpRequest, url: URL, headers: Record<string, string>): Promise<Answer> {
    const head = headSignal(wanted);
    try {
      return (await this.#fetch(`${url.origin}${url.pathname}${url.search}`, {
        method: wanted.method,
        headers,
        signal: head.signal,
        ...(wanted.body === undefined ? {} : { body: wanted.body }),
      })) as unknown as Answer;
    } catch (error) {
      if (error instanceof BulkheadError) {
        const { code, message, data } = error;
        const kind = typeof data.kind === 'string' ? data.kind : 'auth';
        throw new HttpFailure(
          { kind, code: code === 'START_FAILED' ? 'DENIED' : code, message, data },
          error,
        );
      }
      throw new HttpFailure(networkFailure(wanted.method, url, error), error);
    } finally {
      head.clear();
    }
  }

  /** The start of a failed answer's body, for {@link failureOf} and for heuristics; never throws. */
  async errorBody(reply: HttpReply): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    const reading = (async () => {
      let bytes = 0;
      for await (const piece of reply.body) {
        pieces.push(piece);
        bytes += piece.length;
        if (bytes >= ERROR_BODY_BYTES) break;
      }
    })().catch(() => {}); // what came is enough
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ERROR_BODY_MS);
    });
    await Promise.race([reading, limit]);
    clearTimeout(timer);
    return Buffer.concat(pieces);
  }

  failureOf(method: string, reply: HttpReply, body: Buffer): Failure {
    return statusFailure(method, reply.url, reply.status, this.show(body));
  }

  /** A foreign text as an excerpt without the configured secrets. */
  show(body: Buffer): string {
    return excerpt(body, this.#secrets);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

interface Answer {
  status: number;
  headers: { get(name: string): string | null };
  body: HttpReply['body'] | null;
}

const EMPTY: HttpReply['body'] = {
  async *[Symbol.asyncIterator]() {},
  cancel: () => Promise.resolve(),
};

/** Gives the connection back; a body that is not short is cut instead of read. */
export function discard(body: HttpReply['body']): void {
  void (async () => {
    let bytes = 0;
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > 16 * 1024) break; // leaving the loop cancels the body
    }
  })().catch(() => {});
}

/** The request's signal, and until `clear()` a limit for the head of the answer. */
function headSignal({ signal, headersTimeoutMs = 0 }: HttpRequest): { signal: AbortSignal; clear(): void } {
  if (headersTimeoutMs === 0) return { signal, clear() {} };
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new Error(`no answer within ${headersTimeoutMs} ms`)),
    headersTimeoutMs,
  );
  return { signal: AbortSignal.any([signal, limit.signal]), clear: () => clearTimeout(timer) };
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
}
