/**
 * The older HTTP+SSE transport (2024-11-05): one stream brings everything, its first event names the address for POSTs.
 * When the stream ends the session has ended; nothing can be resumed.
 */
import { discard, type HttpClient, type HttpReply } from './client.js';
import type { Engine, EngineHost, Frame } from './engine.js';
import { HttpFailure, networkFailure, shownUrl } from './failure.js';
import { pour } from './pour.js';
import { SseParser } from './sse.js';

export class LegacySseEngine implements Engine {
  readonly #url: URL;
  readonly #client: HttpClient;
  readonly #host: EngineHost;
  #endpoint: URL | undefined;
  readonly #open = new Map<number, AbortController>();
  /** Every exchange that is open, notifications too. */
  readonly #cuts = new Set<AbortController>();
  readonly #closing = new AbortController();

  constructor(url: URL, client: HttpClient, host: EngineHost) {
    this.#url = url;
    this.#client = client;
    this.#host = host;
  }

  /** Opens the stream and waits for the endpoint. @throws {HttpFailure} when there is none. */
  async open(): Promise<void> {
    const headers: [string, string][] = [['accept', 'text/event-stream']];
    const reply = await this.#client.send({
      method: 'GET',
      url: this.#url,
      headers,
      signal: this.#closing.signal,
    });
    if (reply.status !== 200 || reply.mediaType !== 'text/event-stream') {
      const body = await this.#client.errorBody(reply);
      throw new HttpFailure(this.#client.failureOf('GET', reply, body));
    }
    await new Promise<void>((resolve, reject) => {
      void this.#listen(reply, { resolve, reject });
    });
  }

  async send({ text, wireId, method }: Frame): Promise<void> {
    const abort = new AbortController();
    if (wireId !== undefined) this.#open.set(wireId, abort);
    // Not AbortSignal.any with `#closing`: on Node 20 that signal would remember every call of its life.
    const { signal } = abort;
    this.#cuts.add(abort);
    try {
      if (this.#endpoint === undefined) throw this.#failure('http', 'no endpoint event has come yet');
      const headers: [string, string][] = [['content-type', 'application/json']];
      const reply = await this.#client.send({
        method: 'POST',
        url: this.#endpoint,
        headers,
        body: text,
        signal,
      });
      if (reply.status < 200 || reply.status > 299) {
        throw new HttpFailure(this.#client.failureOf('POST', reply, await this.#client.errorBody(reply)));
      }
      discard(reply.body); // the answer comes on the stream
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof HttpFailure ? error.failure : networkFailure('POST', this.#url, error);
      if (method === 'initialize') throw error;
      if (wireId === undefined) this.#host.warn(`a message could not be delivered: ${failure.message}`);
      else this.#host.fail(wireId, failure);
    } finally {
      if (wireId !== undefined) this.#open.delete(wireId);
      this.#cuts.delete(abort);
    }
  }

  cancel(wireId: number): void {
    this.#open.get(wireId)?.abort();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const abort of this.#cuts) abort.abort();
  }

  async #listen(
    reply: HttpReply,
    endpoint: { resolve: () => void; reject: (error: HttpFailure) => void },
  ): Promise<void> {
    const host = this.#host;
    let refused = false;
    const parser = new SseParser(host, {
      event: ({ data, name }) => {
        if (data.length === 0) return;
        if (name !== 'endpoint') {
          for (const message of host.read(data)) host.route(message);
          return;
        }
        const target = this.#accept(data.toString(), reply.url);
        if (target instanceof HttpFailure) {
          refused = true;
          endpoint.reject(target);
          return;
        }
        this.#endpoint = target;
        endpoint.resolve();
      },
      oversize: ({ prefix, bytes }) => host.router.oversize(prefix, bytes),
    });
    const poured = await pour(reply.body, parser, host, () => !refused);
    const why = 'broke' in poured ? networkFailure('GET', reply.url, poured.broke).message : '';
    endpoint.reject(
      this.#failure('http', `the stream ended before it named an endpoint${why && ` (${why})`}`),
    );
    if (this.#endpoint === undefined || this.#closing.signal.aborted) return;
    host.end({ kind: 'closed', message: why || `${shownUrl(reply.url)} ended the stream` });
  }

  /** The address for POSTs: relative to the stream's, and never on another origin. */
  #accept(text: string, base: URL): URL | HttpFailure {
    if (!URL.canParse(text, base.href))
      return this.#failure('http', `its endpoint event is no address: ${text.slice(0, 200)}`);
    const target = new URL(text, base);
    if (target.origin === base.origin) return target;
    return this.#failure(
      'config',
      `its endpoint is on another origin, ${shownUrl(target)}; that is never used`,
    );
  }

  #failure(kind: string, what: string): HttpFailure {
    const data = { url: shownUrl(this.#url) };
    return new HttpFailure({
      kind,
      code: 'PROTOCOL_ERROR',
      message: `SSE ${shownUrl(this.#url)}: ${what}`,
      data,
    });
  }
}
