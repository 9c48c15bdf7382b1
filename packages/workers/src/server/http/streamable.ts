/**
 * Streamable HTTP: one POST per message, its answer as JSON or as a stream of events, and a session that may be lost
 * and is then replaced without its calls noticing. Owns the session id and every open exchange.
 */
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import type { Incoming } from '../envelope.js';
import {
  AnswerStream,
  answers,
  type Exchange,
  NotStreamable,
  tellsLoss,
  type Verdict,
} from './answer-stream.js';
import { readBody } from './body.js';
import { discard, type HttpClient, type HttpReply } from './client.js';
import type { Engine, EngineHost, Frame } from './engine.js';
import { type Failure, HttpFailure, networkFailure, shownUrl } from './failure.js';
import { ListenStream } from './listen-stream.js';
import { pause } from './pause.js';
import { pour } from './pour.js';
import { type MirroredParams, requestHeaders } from './request-headers.js';
import { statusTellsLoss } from './session-loss.js';
import { SseParser } from './sse.js';
import { versionToTry } from './version-step.js';

/** After `notifications/initialized`, how long the listening stream may take to open before the first request goes. */
const LISTEN_GRACE_MS = 1_000;
const DELETE_TIMEOUT_MS = 1_000;
/** Sessions lost in a row, with no answer in between, before the supervisor takes over with its backoff. */
const RENEWALS_MAX = 3;

export class StreamableEngine implements Engine {
  readonly #client: HttpClient;
  readonly #host: EngineHost;
  #url: URL;
  #session: string | undefined;
  #version: string | undefined;
  #era: 'legacy' | 'modern' = 'legacy';
  #mirrored: ReadonlyMap<string, MirroredParams> = new Map();
  /** The `initialize` that was accepted: a new session begins with the same words. */
  #initialize: string | undefined;
  #renewing: Promise<void> | undefined;
  #renewals = 0;
  #listening: ListenStream | undefined;
  readonly #answers: AnswerStream;
  readonly #open = new Map<number, AbortController>();
  /** Every exchange that is open, notifications too. */
  readonly #cuts = new Set<AbortController>();
  readonly #closing = new AbortController();

  constructor(url: URL, client: HttpClient, host: EngineHost) {
    this.#url = url;
    this.#client = client;
    this.#host = host;
    this.#answers = new AnswerStream({
      host,
      route: (message, frame) => this.#route(message, frame),
      resumes: () => this.#era === 'legacy',
      get: (lastEventId, signal) => this.#get(lastEventId, signal, 0),
    });
  }

  setEra(era: 'legacy' | 'modern'): void {
    if (era === this.#era) return;
    this.#era = era;
    this.#session = undefined;
    this.#version = undefined;
    this.#listening?.close();
    for (const abort of this.#cuts) abort.abort();
  }

  /** Tools whose arguments are mirrored in headers, by name. */
  mirror(tools: ReadonlyMap<string, MirroredParams>): void {
    this.#mirrored = tools;
  }

  async send(frame: Frame): Promise<void> {
    const abort = new AbortController();
    const { wireId } = frame;
    if (wireId !== undefined) this.#open.set(wireId, abort);
    // Not AbortSignal.any with `#closing`: on Node 20 that signal would remember every call of its life.
    const { signal } = abort;
    this.#cuts.add(abort);
    try {
      await (frame.method === 'initialize'
        ? this.#begin(frame, abort, signal)
        : this.#exchange(frame, abort, signal));
      if (frame.method === 'notifications/initialized') await this.#listen();
    } catch (error) {
      if (signal.aborted) return;
      const failure = failureOf(error, this.#url);
      if (frame.method === 'initialize' || frame.probe === true)
        throw error instanceof HttpFailure ? error : new HttpFailure(failure);
      if (wireId === undefined) this.#host.warn(`a message could not be delivered: ${failure.message}`);
      else this.#host.fail(wireId, failure);
    } finally {
      if (wireId !== undefined) this.#open.delete(wireId);
      this.#cuts.delete(abort);
      this.#host.turn();
    }
  }

  cancel(wireId: number): void {
    this.#open.get(wireId)?.abort();
  }

  async close(): Promise<void> {
    const session = this.#session;
    const headers = this.#headers();
    this.#session = undefined;
    this.#closing.abort();
    for (const abort of this.#cuts) abort.abort();
    this.#listening?.close();
    if (session === undefined) return;
    // 404, 405 and 501 are fine, and so is everything else: the session ends here either way.
    const signal = AbortSignal.timeout(DELETE_TIMEOUT_MS);
    await this.#client
      .send({ method: 'DELETE', url: this.#url, headers, signal })
      .then((reply) => discard(reply.body))
      .catch(() => {});
  }

  // ── one exchange ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Sends a message; if its session turns out to be lost, once more in a new one. */
  async #exchange(frame: Frame, abort: AbortController, signal: AbortSignal): Promise<void> {
    await this.#renewing;
    const session = this.#session;
    if ((await this.#attempt({ frame, signal, abort, session, repeated: false })) === 'done') return;
    if (signal.aborted) return;
    await this.#renew(session);
    const again = { frame, signal, abort, session: this.#session, repeated: true };
    if ((await this.#attempt(again)) === 'done') return;
    throw new HttpFailure({
      kind: 'session',
      code: 'CONNECTION_LOST',
      message: `${shownUrl(this.#url)} lost the session again right after a new one was opened; the request was not carried out`,
      data: { url: shownUrl(this.#url) },
    });
  }

  async #attempt(exchange: Exchange): Promise<Verdict> {
    const { frame, signal, session, repeated } = exchange;
    const reply = await this.#post(frame.text, signal);
    if (reply.status < 200 || reply.status > 299) {
      const body = await this.#client.errorBody(reply);
      if (session !== undefined && statusTellsLoss(reply.status, body.toString())) {
        // 404 is the specified word for it; what 400 says in prose is believed once.
        if (!repeated || reply.status === 404) return 'lost';
      }
      // A refusal may carry the JSON-RPC answer; it counts only if it names this request.
      const answer = this.#host.read(body).filter((message) => answers(message, frame.wireId));
      for (const message of answer) this.#host.route(message);
      if (answer.length > 0) return 'done';
      throw new HttpFailure(this.#client.failureOf('POST', reply, body), undefined, body.toString());
    }
    if (frame.wireId === undefined) {
      discard(reply.body); // any 2xx will do
      return 'done';
    }
    const verdict =
      reply.mediaType === 'text/event-stream'
        ? await this.#answers.read(reply, exchange)
        : await this.#json(reply, exchange);
    if (verdict === 'done' && !this.#host.router.pending(frame.wireId)) this.#renewals = 0;
    return verdict;
  }

  async #json(reply: HttpReply, exchange: Exchange): Promise<Verdict> {
    const host = this.#host;
    const { frame } = exchange;
    const body = await readBody(reply.body, host.maxMessageBytes, (count) => host.bytes(count));
    if ('oversize' in body) {
      const { prefix, bytes } = body.oversize;
      host.router.oversize(prefix, bytes);
      this.#mustBeAnswered(frame, reply, `a body of ${bytes} bytes, above maxMessageBytes`);
      return 'done';
    }
    if (host.readPlain(body.bytes)) return 'done';
    const messages = host.read(body.bytes);
    if (messages.some((message) => tellsLoss(message, exchange))) return 'lost';
    for (const message of messages) host.route(message);
    if (frame.wireId === undefined || !host.router.pending(frame.wireId)) return 'done';
    const said = this.#client.show(body.bytes);
    this.#mustBeAnswered(frame, reply, said === '' ? 'an empty body' : `this body: ${said}`);
    return 'done';
  }

  #mustBeAnswered(frame: Frame, reply: HttpReply, got: string): void {
    if (frame.wireId === undefined || !this.#host.router.pending(frame.wireId)) return;
    throw new HttpFailure({
      kind: 'http',
      code: 'PROTOCOL_ERROR',
      message: `HTTP ${reply.status} to POST ${shownUrl(reply.url)} does not answer the request; it has ${got}`,
      data: { status: reply.status, url: shownUrl(reply.url) },
    });
  }

  #route(message: Incoming, frame: Frame): void {
    if (frame.method === 'initialize' && message.kind === 'response' && message.id === frame.wireId) {
      const result = message.value.result as { protocolVersion?: unknown } | undefined;
      if (typeof result?.protocolVersion === 'string') this.#version = result.protocolVersion;
    }
    this.#host.route(message);
  }

  // ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The handshake; a refused protocol version is stepped down once. */
  async #begin(frame: Frame, abort: AbortController, signal: AbortSignal): Promise<void> {
    let text = frame.text;
    for (let stepped = false; ; stepped = true) {
      const reply = await this.#post(text, signal);
      const ok = reply.status >= 200 && reply.status < 300;
      if (ok && reply.mediaType === 'text/event-stream') {
        this.#began(text, reply);
        await this.#answers.read(reply, { frame, signal, abort, session: undefined, repeated: false });
        return;
      }
      const body = ok ? await this.#wholeBody(reply) : await this.#client.errorBody(reply);
      const messages = this.#host.read(body);
      const answer = messages.find((message) => answers(message, frame.wireId));
      const refused = !ok || (answer?.kind === 'response' && answer.value.error !== undefined);
      const lower = refused && !stepped && lowered(text, body.toString());
      if (lower) {
        text = lower;
        continue;
      }
      if (ok) this.#began(text, reply);
      if (answer !== undefined) {
        for (const message of messages) this.#route(message, frame);
        return;
      }
      if (ok) return this.#mustBeAnswered(frame, reply, this.#client.show(body) || 'an empty body');
      const failure = this.#client.failureOf('POST', reply, body);
      throw [400, 404, 405].includes(reply.status) ? new NotStreamable(failure) : new HttpFailure(failure);
    }
  }

  #began(text: string, reply: HttpReply): void {
    this.#initialize = text;
    this.#session = reply.sessionId;
  }

  async #wholeBody(reply: HttpReply): Promise<Buffer> {
    const body = await readBody(reply.body, this.#host.maxMessageBytes, (count) => this.#host.bytes(count));
    return 'bytes' in body ? body.bytes : body.oversize.prefix;
  }

  /** A new session instead of `lost`, once for all calls that noticed. @throws {HttpFailure} when there is none. */
  async #renew(lost: string | undefined): Promise<void> {
    if (this.#session !== lost && this.#renewing === undefined) return; // another call has done it
    this.#renewing ??= this.#reinitialize().finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  async #reinitialize(): Promise<void> {
    const { router } = this.#host;
    this.#session = undefined;
    this.#listening?.close();
    try {
      if (++this.#renewals > RENEWALS_MAX) throw new Error(`it was lost ${this.#renewals} times in a row`);
      const wireId = router.claimId();
      const params = JSON.parse(this.#initialize ?? '{}') as Record<string, unknown>;
      const text = JSON.stringify({ ...params, id: wireId });
      try {
        this.#version = undefined;
        const result = await this.#handshake(text, wireId);
        if (typeof result.protocolVersion === 'string') this.#version = result.protocolVersion;
      } finally {
        router.releaseId(wireId);
      }
      const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
      const told = await this.#post(initialized, this.#closing.signal);
      discard(told.body);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `the server forgot the session and no new one could be opened: ${why}`;
      const data = { url: shownUrl(this.#url) };
      // After the calls that wait for this have heard of it themselves: they were not carried out.
      setImmediate(() => this.#host.end({ kind: 'session', message }));
      throw new HttpFailure({ kind: 'session', code: 'CONNECTION_LOST', message, data }, error);
    }
    void this.#listen();
    this.#host.renewed();
  }

  /** Sends `initialize` outside the SDK and gives its result. */
  async #handshake(text: string, wireId: number): Promise<Record<string, unknown>> {
    const reply = await this.#post(text, this.#closing.signal);
    if (reply.status < 200 || reply.status > 299) {
      throw new HttpFailure(this.#client.failureOf('POST', reply, await this.#client.errorBody(reply)));
    }
    const messages: Incoming[] = [];
    const take = (data: Buffer) => messages.push(...this.#host.read(data));
    if (reply.mediaType === 'text/event-stream') {
      const parser = new SseParser(this.#host, { event: ({ data }) => take(data), oversize: () => {} });
      await pour(reply.body, parser, this.#host, () => !messages.some((message) => answers(message, wireId)));
    } else {
      take(await this.#wholeBody(reply));
    }
    const answer = messages.find((message) => answers(message, wireId));
    const result = answer?.kind === 'response' ? answer.value.result : undefined;
    if (typeof result !== 'object' || result === null)
      throw new Error('initialize was not answered with a result');
    this.#session = reply.sessionId;
    return result as Record<string, unknown>;
  }

  // ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────

  async #post(body: string, signal: AbortSignal): Promise<HttpReply> {
    const headers: [string, string][] = [
      ...(this.#era === 'modern' ? requestHeaders(body, this.#mirrored) : this.#headers()),
      ['content-type', 'application/json'],
      ['accept', 'application/json, text/event-stream'],
    ];
    const reply = await this.#client.send({ method: 'POST', url: this.#url, headers, body, signal });
    if (reply.movedTo !== undefined) this.#url = reply.movedTo;
    return reply;
  }

  #get(lastEventId: string | undefined, signal: AbortSignal, headersTimeoutMs: number): Promise<HttpReply> {
    const headers: [string, string][] = [...this.#headers(), ['accept', 'text/event-stream']];
    if (lastEventId !== undefined) headers.push(['last-event-id', lastEventId]);
    return this.#client.send({ method: 'GET', url: this.#url, headers, signal, headersTimeoutMs });
  }

  /** Opens the listening stream; waits a moment, since what the server asks before it is open would be lost. */
  async #listen(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const session = this.#session;
    this.#listening?.close();
    this.#listening = new ListenStream({
      host: this.#host,
      get: (lastEventId, signal, headersTimeoutMs) => this.#get(lastEventId, signal, headersTimeoutMs),
      discard,
      onSessionLost: () => {
        if (session !== undefined) this.#renew(session).catch(() => {}); // told through `end`
      },
    });
    const waited = new AbortController();
    await Promise.race([this.#listening.open(), pause(LISTEN_GRACE_MS, waited.signal)]);
    waited.abort();
  }

  #headers(): [string, string][] {
    const headers: [string, string][] = [];
    if (this.#session !== undefined) headers.push(['mcp-session-id', this.#session]);
    if (this.#version !== undefined) headers.push(['mcp-protocol-version', this.#version]);
    return headers;
  }
}

/** The same `initialize` with the version to try next, or undefined. */
function lowered(text: string, refusal: string): string | undefined {
  const message = JSON.parse(text) as { params?: { protocolVersion?: unknown } };
  const proposed = message.params?.protocolVersion;
  if (typeof proposed !== 'string') return undefined;
  const protocolVersion = versionToTry(proposed, refusal, SUPPORTED_PROTOCOL_VERSIONS);
  if (protocolVersion === undefined) return undefined;
  return JSON.stringify({ ...message, params: { ...message.params, protocolVersion } });
}

function failureOf(error: unknown, url: URL): Failure {
  return error instanceof HttpFailure ? error.failure : networkFailure('POST', url, error);
}
