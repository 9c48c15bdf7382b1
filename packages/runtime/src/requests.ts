/** Everything a client asks of a server besides tools: resources, prompts, completion, logging. */
import { BulkheadError } from '@bulkhead/workers';
import type { CallOptions, LogLevel, ServerView, ToolResult } from './api.js';
import type { Catalog } from './catalog.js';

/** Pages of one list; a repeated cursor ends it earlier. */
const MAX_PAGES = 200;
const METHOD_NOT_FOUND = -32601;

export type SendRequest = (
  method: string,
  params: Record<string, unknown>,
  options?: CallOptions,
) => Promise<ToolResult>;

type Requests = Pick<
  ServerView,
  | 'listResources'
  | 'listResourceTemplates'
  | 'readResource'
  | 'subscribe'
  | 'unsubscribe'
  | 'listPrompts'
  | 'getPrompt'
  | 'complete'
  | 'ping'
  | 'setLogLevel'
>;

/** What must be told again to every new session of one server. */
export class SessionWishes {
  readonly #uris = new Set<string>();
  #level: LogLevel | undefined;

  want(uri: string): void {
    this.#uris.add(uri);
  }

  drop(uri: string): void {
    this.#uris.delete(uri);
  }

  level(level: LogLevel): void {
    this.#level = level;
  }

  /** Repeats the wishes; a server that refuses one now has changed, which its log says. */
  async repeat(send: SendRequest): Promise<void> {
    const wishes: Promise<unknown>[] = [...this.#uris].map((uri) => send('resources/subscribe', { uri }));
    if (this.#level !== undefined) wishes.push(send('logging/setLevel', { level: this.#level }));
    await Promise.allSettled(wishes);
  }
}

export function requestsOf(
  server: string,
  catalog: Catalog,
  wishes: SessionWishes,
  send: SendRequest,
  warn: (message: string) => void,
): Requests {
  const offers = (capability: string) => {
    const { capabilities } = catalog.of(server) ?? {};
    return capabilities === undefined || capabilities[capability] !== undefined;
  };
  const demand = (capability: string, method: string) => {
    if (offers(capability)) return;
    throw new BulkheadError(
      'UNSUPPORTED',
      `server "${server}" does not offer ${capability}, so ${method} was not sent`,
      { server },
    );
  };
  const result = async (method: string, params: Record<string, unknown>, options?: CallOptions) =>
    JSON.parse((await send(method, params, options)).raw) as Record<string, unknown>;
  const list = async (capability: string, method: string, member: string, options?: CallOptions) => {
    // The first question waits for the session and so for its capabilities.
    const items: Record<string, unknown>[] = [];
    const cursors = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && offers(capability); page++) {
      let answer: Record<string, unknown>;
      try {
        answer = await result(method, cursor === undefined ? {} : { cursor }, options);
      } catch (error) {
        // Declared but not there, or optional and refused: an empty list, never a broken server.
        const code = error instanceof BulkheadError ? error.data.jsonRpcCode : undefined;
        if (page === 0 && typeof code === 'number') {
          // "Method not found" is an optional list that is not there; anything else may be an outage.
          if (code !== METHOD_NOT_FOUND)
            warn(`${method} failed and counts as empty: ${(error as Error).message}`);
          return [];
        }
        throw error;
      }
      if (Array.isArray(answer[member]))
        items.push(...answer[member].filter((item) => typeof item === 'object' && item !== null));
      const next = answer.nextCursor;
      if (typeof next !== 'string' || cursors.has(next)) break;
      cursors.add(next);
      cursor = next;
    }
    return items;
  };
  return {
    listResources: (options) => list('resources', 'resources/list', 'resources', options),
    listResourceTemplates: (options) =>
      list('resources', 'resources/templates/list', 'resourceTemplates', options),
    async readResource(uri, options) {
      demand('resources', 'resources/read');
      return result('resources/read', { uri }, options);
    },
    async subscribe(uri) {
      demand('resources', 'resources/subscribe');
      await result('resources/subscribe', { uri });
      wishes.want(uri);
    },
    async unsubscribe(uri) {
      wishes.drop(uri);
      await result('resources/unsubscribe', { uri });
    },
    listPrompts: (options) => list('prompts', 'prompts/list', 'prompts', options),
    async getPrompt(name, args = {}, options) {
      demand('prompts', 'prompts/get');
      return result('prompts/get', { name, arguments: args }, options);
    },
    async complete(params, options) {
      demand('completions', 'completion/complete');
      return result('completion/complete', params, options);
    },
    async ping(options) {
      const startedAt = performance.now();
      await send('ping', {}, options);
      return performance.now() - startedAt;
    },
    async setLogLevel(level) {
      demand('logging', 'logging/setLevel');
      await result('logging/setLevel', { level });
      wishes.level(level);
    },
  };
}
