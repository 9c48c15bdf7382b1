/**
 * The optional GET stream on which a Streamable HTTP server speaks unasked. It is opened again quietly, with a floor
 * between attempts, and given up after a few useless ones; calls do not depend on it.
 */
import { performance } from 'node:perf_hooks';
import type { HttpReply } from './client.js';
import type { EngineHost } from './engine.js';
import { afterStream, type ListenState, listenStart, listenStatus } from './listen-policy.js';
import { pause } from './pause.js';
import { pour } from './pour.js';
import { SseParser } from './sse.js';

/** A server that never sends the head of its answer: counted as one useless attempt. */
const HEAD_TIMEOUT_MS = 60_000;

export interface ListenOptions {
  host: EngineHost;
  /** Sends the GET, with `Last-Event-ID` when given. Rejects when there is no answer. */
  get(lastEventId: string | undefined, signal: AbortSignal, headersTimeoutMs: number): Promise<HttpReply>;
  discard(body: HttpReply['body']): void;
  /** A stream that worked before is now answered by 404: the session is gone. */
  onSessionLost(): void;
}

export class ListenStream {
  readonly #options: ListenOptions;
  readonly #abort = new AbortController();

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  /** Opens it and keeps it open; resolves when the first attempt was answered, one way or the other. Never rejects. */
  open(): Promise<void> {
    return new Promise((answered) => {
      this.#abort.signal.addEventListener('abort', () => answered(), { once: true });
      void this.#keep(answered)
        .catch(() => {})
        .finally(answered);
    });
  }

  close(): void {
    this.#abort.abort();
  }

  async #keep(answered: () => void): Promise<void> {
    const { host, get, discard, onSessionLost } = this.#options;
    const { signal } = this.#abort;
    let state: ListenState = listenStart;
    let lastEventId: string | undefined;
    let retryMs: number | undefined;
    let everOpen = false;
    while (!signal.aborted) {
      const since = performance.now();
      let useful = false;
      const reply = await get(lastEventId, signal, HEAD_TIMEOUT_MS).catch(() => undefined);
      answered();
      if (signal.aborted) return;
      if (reply !== undefined) {
        const means = listenStatus(reply.status, reply.mediaType === 'text/event-stream');
        if (means !== 'open') discard(reply.body);
        if (means === 'post-only' && reply.status === 404 && everOpen) {
          onSessionLost();
          return;
        }
        if (means === 'auth') {
          host.warn(
            `the listening stream was refused (HTTP ${reply.status}); messages that the server sends unasked will not arrive`,
          );
        }
        if (means === 'auth' || means === 'post-only') return;
        if (means === 'open') {
          everOpen = true;
          const parser = new SseParser(host, {
            event: ({ data }) => {
              if (data.length === 0) return;
              const messages = host.read(data);
              useful ||= messages.length > 0;
              for (const message of messages) host.route(message);
            },
            oversize: ({ prefix, bytes }) => host.router.oversize(prefix, bytes),
          });
          await pour(reply.body, parser, host);
          lastEventId = parser.lastEventId ?? lastEventId;
          retryMs = parser.retryMs ?? retryMs;
        }
      }
      const next = afterStream(state, { useful, uptimeMs: performance.now() - since, retryMs });
      if ('giveUp' in next) {
        if (!signal.aborted)
          host.warn('the listening stream ends again and again and was given up; calls go on without it');
        return;
      }
      state = next.state;
      await pause(next.waitMs, signal);
    }
  }
}
