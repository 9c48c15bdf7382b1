/**
 * The `fetch` of the HTTP client, without the machinery of the web's: one request by undici's own way, and of its answer
 * what a client of MCP looks at (status, headers, a body to iterate or cancel). A third of the CPU of `fetch`.
 */
import { pipeline, type Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Dispatcher } from 'undici';

/** Some gateways refuse requests that name no agent; a configured header of that name wins. */
const DEFAULT_HEADERS = { 'user-agent': 'bulkhead', 'accept-encoding': 'gzip, deflate, br' };

/** By content coding. Flushed with every piece: events must not wait in a decompressor for the next ones. */
const DECODERS = new Map([
  ['gzip', () => createGunzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH })],
  ['x-gzip', () => createGunzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH })],
  ['deflate', () => createInflate({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH })],
  ['br', () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })],
]);

/** Redirects are given as they are; a compressed body is decompressed. */
export function plainRequest(dispatcher: Dispatcher): FetchLike {
  return async (target, init = {}) => {
    const url = new URL(target);
    const answer = await dispatcher.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: { ...DEFAULT_HEADERS, ...plainHeaders(init.headers) },
      body: typeof init.body === 'string' ? init.body : null,
      signal: init.signal ?? null,
    });
    const body = decoded(answer.body, answer.headers['content-encoding']);
    body.on('error', () => {}); // whoever reads is told; whoever left does not care
    return {
      status: answer.statusCode,
      ok: answer.statusCode >= 200 && answer.statusCode < 300,
      headers: {
        get(name: string): string | null {
          const value = answer.headers[name];
          return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;
        },
      },
      body: {
        [Symbol.asyncIterator]: () => body[Symbol.asyncIterator](),
        async cancel() {
          body.destroy();
        },
      },
    } as unknown as Response;
  };
}

/** Codings stand in the order in which they were applied; what is not known is left as it is. */
function decoded(body: Readable, codings: string | string[] | undefined): Readable {
  if (codings === undefined) return body;
  let plain = body;
  for (const coding of String(codings).toLowerCase().split(',').reverse()) {
    const decoder = DECODERS.get(coding.trim())?.();
    if (decoder !== undefined) plain = pipeline(plain, decoder, () => {});
  }
  return plain;
}

function plainHeaders(headers: RequestInit['headers']): Record<string, string> {
  return headers instanceof Headers
    ? Object.fromEntries(headers)
    : ((headers ?? {}) as Record<string, string>);
}
