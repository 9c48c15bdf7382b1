/** The one door of this directory: a transport for a server that is reached over HTTP. */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { BulkheadError } from '../../errors.js';
import type { Launch } from '../../protocol.js';
import { HttpTransport } from './transport.js';

export type { HttpLaneSink, HttpTransport } from './transport.js';

export interface ConnectOptions {
  /** Largest single message, whatever carries it. */
  maxMessageBytes: number;
  /** For every piece of a body that arrives. */
  onBytes: (count: number) => void;
  /** For every message that leaves. */
  onSent?: ((count: number) => void) | undefined;
  /** For every body or event that is not protocol. */
  onSkipped: () => void;
  /** Default true: type `http` may turn out to be the older SSE transport. */
  fallback?: boolean;
  /** Adds credentials to every request; see `auth/credentials.ts`. */
  wrapFetch?: (base: FetchLike) => FetchLike;
}

/**
 * A transport that is not connected yet: the session's handshake connects it.
 * @throws {BulkheadError} `START_FAILED` with `data.kind` `config` when the address is none.
 */
export function connectHttp(
  launch: Extract<Launch, { type: 'http' | 'sse' }>,
  { fallback = true, ...options }: ConnectOptions,
): HttpTransport {
  const url = URL.canParse(launch.url) ? new URL(launch.url) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new BulkheadError('START_FAILED', '"url" is not an http or https address', {
      data: { kind: 'config' },
    });
  }
  const mode = launch.type === 'sse' ? 'sse' : fallback ? 'streamable-or-sse' : 'streamable';
  return new HttpTransport({ ...options, url, headers: launch.headers, mode });
}
