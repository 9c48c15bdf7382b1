/**
 * The answer to a POST as a stream of events: read until the request is answered, and resumed by GET when the stream
 * breaks before that and its events had ids. What other requests wait for is handed on as it comes.
 */
import type { Incoming } from '../envelope.js';
import { discard, type HttpReply } from './client.js';
import type { EngineHost, Frame } from './engine.js';
import { type Failure, HttpFailure, networkFailure, shownUrl } from './failure.js';
import { RETRY_CAP_MS } from './listen-policy.js';
import { pause } from './pause.js';
import { pour } from './pour.js';
import { errorTellsLoss, textTellsLoss } from './session-loss.js';
import { SseParser } from './sse.js';

/** An answered stream that its server leaves open is cut after this. */
const TRAILING_MS = 1_000;
const RESUME_DEFAULT_MS = 1_000;
const RESUME_FLOOR_MS = 100;
const RESUME_MAX = 5;

/** `initialize` was answered in a way that says: no Streamable HTTP here. */
export class NotStreamable extends HttpFailure {}

/** One exchange: what is asked, under which session, and whether it is the repetition after a loss. */
export interface Exchange {
  frame: Frame;
  signal: AbortSignal;
  /** Cuts this exchange. */
  abort: AbortController;
  session: string | undefined;
  repeated: boolean;
}

/** `lost`: the session is, and the request was not carried out. */
export type Verdict = 'done' | 'lost';

interface AnswerOptions {
  host: EngineHost;
  route(message: Incoming, frame: Frame): void;
  /** Whether this era resumes streams at all. */
  resumes(): boolean;
  /** Sends the GET that resumes a stream. */
  get(lastEventId: string, signal: AbortSignal): Promise<HttpReply>;
}

/** What the events of one stream told beside messages. */
interface Seen {
  lost: boolean;
  legacy: boolean;
  problem: string;
}

export class AnswerStream {
  readonly #options: AnswerOptions;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /** Reads events until the request is answered, over as many resumed streams as the server's event ids allow. */
  async read(first: HttpReply, exchange: Exchange): Promise<Verdict> {
    const { frame, signal, abort } = exchange;
    const pending = () => frame.wireId !== undefined && this.#options.host.router.pending(frame.wireId);
    let reply: HttpReply | undefined = first;
    let lastEventId: string | undefined;
    let retryMs = RESUME_DEFAULT_MS;
    for (let useless = 0; ; useless++) {
      if (useless > RESUME_MAX)
        throw this.#unanswered(first.url, `it was resumed ${RESUME_MAX} times in vain`);
      const seen: Seen = { lost: false, legacy: false, problem: '' };
      let cause = '';
      if (reply !== undefined) {
        const parser = this.#parser(exchange, seen);
        let trailing: NodeJS.Timeout | undefined;
        const poured = await pour(reply.body, parser, this.#options.host, () => {
          if (!pending()) trailing ??= setTimeout(() => abort.abort(), TRAILING_MS);
          return !seen.lost && !seen.legacy;
        });
        clearTimeout(trailing);
        if (seen.legacy) throw new NotStreamable(legacyFailure(first.url));
        if (seen.lost) return 'lost';
        if ('broke' in poured) cause = networkFailure('POST', first.url, poured.broke).message;
        else this.#last(parser.end());
        if (parser.lastEventId !== undefined && parser.lastEventId !== lastEventId) {
          lastEventId = parser.lastEventId;
          useless = 0;
        }
        retryMs = parser.retryMs ?? retryMs;
      }
      if (!pending() || signal.aborted) return 'done';
      if (lastEventId === undefined || !this.#options.resumes())
        throw this.#unanswered(first.url, seen.problem || cause);
      await pause(Math.min(RETRY_CAP_MS, Math.max(RESUME_FLOOR_MS, retryMs)), signal);
      if (!pending() || signal.aborted) return 'done'; // answered on another stream meanwhile
      reply = await this.#resume(lastEventId, first.url, signal);
    }
  }

  /** The rest of a stream by GET; undefined when it may be tried again. */
  async #resume(lastEventId: string, url: URL, signal: AbortSignal): Promise<HttpReply | undefined> {
    const reply = await this.#options.get(lastEventId, signal).catch(() => undefined);
    if (reply === undefined) return undefined;
    if (reply.status >= 200 && reply.status < 300 && reply.mediaType === 'text/event-stream') return reply;
    discard(reply.body);
    if (reply.status >= 500 && reply.status !== 501) return undefined;
    throw this.#unanswered(url, `resuming it was answered by HTTP ${reply.status}`);
  }

  #parser(exchange: Exchange, seen: Seen): SseParser {
    const host = this.#options.host;
    return new SseParser(host, {
      event: ({ data, name }) => {
        if (data.length === 0) return;
        if (name === 'endpoint' && exchange.frame.method === 'initialize') {
          seen.legacy = true;
          return;
        }
        if (host.readPlain(data)) return;
        for (const message of host.read(data)) {
          if (tellsLoss(message, exchange)) seen.lost = true;
          else {
            if (message.kind === 'invalid' && message.id === null) seen.problem = message.reason;
            this.#options.route(message, exchange.frame);
          }
        }
      },
      oversize: ({ prefix, bytes }) => host.router.oversize(prefix, bytes),
    });
  }

  /** What stands at a stream's end without its blank line counts if it is whole. */
  #last(data: Buffer | undefined): void {
    if (data === undefined) return;
    const messages = this.#options.host.read(data);
    if (messages.some(({ kind }) => kind === 'invalid')) return;
    for (const message of messages) this.#options.host.route(message);
  }

  #unanswered(url: URL, why: string): HttpFailure {
    const because = why === '' ? '' : ` (${why})`;
    return new HttpFailure({
      kind: 'network',
      code: 'OUTCOME_UNKNOWN',
      message: `the stream that ${shownUrl(url)} answered with ended before the response${because}; the server may have done the work`,
      data: { url: shownUrl(url) },
    });
  }
}

/** Whether the message answers this request, well or badly. */
export function answers(message: Incoming, wireId: number | undefined): boolean {
  if (wireId === undefined) return false;
  return (
    (message.kind === 'response' || message.kind === 'large' || message.kind === 'invalid') &&
    message.id === wireId
  );
}

/** A loss told inside a 2xx: by an error for this request, or for none. Believed once. */
export function tellsLoss(message: Incoming, { frame, session, repeated }: Exchange): boolean {
  if (session === undefined || repeated) return false;
  if (message.kind === 'response') return message.id === frame.wireId && errorTellsLoss(message.value.error);
  return message.kind === 'invalid' && message.id === null && textTellsLoss(message.reason);
}

function legacyFailure(url: URL): Failure {
  const message = `${shownUrl(url)} answered POST with an endpoint event: it speaks the older HTTP+SSE transport`;
  return { kind: 'http', code: 'PROTOCOL_ERROR', message, data: { url: shownUrl(url) } };
}
