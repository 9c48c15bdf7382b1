/** `@bulkhead/runtime/serve`: all servers of a runtime, or a recording of one, as one MCP server. */
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type ClientCapabilities, isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { RuntimeApi } from '../api.js';
import { Front, type ServeOptions } from './front.js';
import { StdioFace } from './stdio.js';

export { ServedAsks } from './asks.js';
export type { ServeOptions } from './front.js';
export { type HttpService, type ServeHttpOptions, serveHttp } from './http.js';
export type { NameStyle } from './names.js';
export { type RecordedAnswer, type Recording, readRecording } from './recording.js';
export { replay } from './replay.js';

/** A client on stdio before its session: what it says of itself decides what servers may ask of it. */
export interface StdioClient {
  /** What the client offers; undefined when it left without a word, empty when it began with something else. */
  capabilities(): Promise<ClientCapabilities | undefined>;
  /** Serves the runtime to it; resolves when the client is gone or `signal` is aborted. */
  serve(runtime: RuntimeApi, options: ServeOptions & { signal?: AbortSignal }): Promise<void>;
}

/** Reads from now on; nothing is lost before `serve()`. */
export function stdioClient(input: Readable, output: Writable): StdioClient {
  const face = new StdioFace(input, output);
  return {
    async capabilities() {
      const first = await face.first;
      if (first === undefined) return undefined;
      return isInitializeRequest(first) ? first.params.capabilities : {};
    },
    async serve(runtime, { signal, ...options }) {
      const front = new Front(runtime, options);
      const session = front.open();
      front.asks.only(session.server);
      const gone = new Promise<void>((resolve) => {
        const left = session.server.onclose;
        session.server.onclose = () => {
          left?.();
          resolve();
        };
      });
      // The SDK declares optional callbacks in two ways.
      await session.server.connect(face as Transport);
      const end = (): void => void session.server.close();
      if (signal?.aborted === true) end();
      signal?.addEventListener('abort', end, { once: true });
      await gone;
      signal?.removeEventListener('abort', end);
      await front.close();
    },
  };
}
