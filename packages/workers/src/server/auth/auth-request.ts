/**
 * Requests to the servers that hand out tokens: bounded in time and size, redirects only within the origin, and plain
 * http only on this machine or for a server that is itself reached that way.
 */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { authDefaults } from './settings.js';

export interface Answer {
  status: number;
  text: string;
  /** The parsed body, undefined when it is no JSON. */
  json: unknown;
}

/** @throws {Error} when the server cannot be reached, is too slow, says too much or sends elsewhere. */
export async function ask(fetchFn: FetchLike, url: string | URL, init: RequestInit = {}): Promise<Answer> {
  const target = new URL(url);
  const signal = AbortSignal.timeout(authDefaults.requestTimeoutMs);
  // A body with a code or a token is never sent on to a place that a redirect names.
  const redirect = init.method === 'POST' ? 'manual' : 'follow';
  const response = await fetchFn(target, { ...init, redirect, signal }).catch((error: unknown) => {
    throw new Error(`${target.origin} does not answer (${deepest(error)})`, { cause: error });
  });
  if (response.url !== '' && new URL(response.url).origin !== target.origin) {
    await response.body?.cancel();
    return { status: 404, text: `redirected to ${new URL(response.url).origin}`, json: undefined };
  }
  const text = await boundedText(response, authDefaults.maxAnswerBytes);
  return { status: response.status, text, json: parse(text) };
}

/** @throws {Error} when the body is larger than `maxBytes`. */
export async function boundedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The start of a foreign text on one line, for a message. */
export function excerpt(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > authDefaults.excerptBytes ? `${line.slice(0, authDefaults.excerptBytes)}…` : line;
}

/** Whether credentials may travel to `url`. */
export function isTrustworthy(url: string, serverUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:') return true;
  const local = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return protocol === 'http:' && (local || new URL(serverUrl).protocol === 'http:');
}

/** `fetch` says "fetch failed" and keeps what happened as the cause. */
function deepest(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? deepest(error.cause) : error.message;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
