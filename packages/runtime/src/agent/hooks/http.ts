/**
 * One run of an HTTP hook: the JSON as a POST, a 2xx answer as the verdict. Nothing else is a yes: no redirect is
 * followed, because the arguments of a call must not travel to a host that nobody wrote down.
 */
import type { Dispatcher } from 'undici';
import { answerOfText, failed, type HookVerdict, OUTPUT_MAX_BYTES, reasonText } from './answer.js';
import type { HookEvent } from './event.js';

export interface HttpAction {
  readonly type: 'http';
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
}

/** Connections of HTTP hooks, made when the first one runs. */
export class HookConnections {
  #agent: Promise<Dispatcher> | undefined;

  /** Never rejects. `signal` aborts with a reason whose message finishes the sentence "it …". */
  async post(
    action: HttpAction,
    event: HookEvent,
    payload: string,
    signal: AbortSignal,
  ): Promise<HookVerdict> {
    const { fetch, Agent } = await import('undici');
    this.#agent ??= Promise.resolve(new Agent());
    try {
      const response = await fetch(action.url, {
        method: 'POST',
        headers: Object.fromEntries([
          ['content-type', 'application/json'],
          ...[...action.headers].map(([name, value]) => [name.toLowerCase(), value]),
        ]),
        body: payload,
        redirect: 'manual',
        signal,
        dispatcher: await this.#agent,
      });
      if (!response.ok) {
        await response.body?.cancel();
        return failed(statusMessage(response.status, response.headers.get('location'), action.url));
      }
      if (event === 'PostToolUse') {
        await response.body?.cancel();
        return answerOfText(event, '');
      }
      const text = await boundedText(response.body ?? undefined);
      if (text === undefined) return failed(`it answered with more than ${OUTPUT_MAX_BYTES} bytes`);
      return answerOfText(event, text);
    } catch (error) {
      if (signal.aborted) return failed(`it ${messageOf(signal.reason)}`);
      return failed(`it could not be reached: ${reasonText(causeOf(error))}`);
    }
  }

  async close(): Promise<void> {
    const agent = await this.#agent;
    this.#agent = undefined;
    await agent?.destroy();
  }
}

function statusMessage(status: number, location: string | null, url: string): string {
  if (status < 300 || status > 399) return `it answered with status ${status}`;
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url) : undefined;
  const to = target === undefined ? '' : ` to ${target.origin}${target.pathname}`;
  return `it redirects (${status})${to}, which is never followed: if that is right, set "url" to it`;
}

async function boundedText(body: AsyncIterable<Uint8Array> | undefined): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > OUTPUT_MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** `fetch failed` says nothing; its cause does. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return messageOf(cause instanceof Error && cause.message !== '' ? cause : error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
