/**
 * Questions of servers (sampling, elicitation, roots) on their way to the client whose call made the server ask. A
 * server does not say which call it asks for, so a question finds its client only while one client alone has calls
 * there; asked of two, a person could be shown the other's question.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { type ClientCapabilities, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { AgentHandlers, AskContext, ElicitationAnswer, Root } from '../api.js';

/** A person may take their time; the runtime has a limit of its own (`askTimeoutMs`). */
const PATIENCE_MS = 2_147_483_647;

/** A call under way: who made it and under which id. */
export interface OpenCall {
  server: Server;
  requestId: string | number;
}

/** Carries what servers ask (sampling, elicitation, roots) to the client that is served. */
export class ServedAsks {
  readonly #calls = new Map<string, Set<OpenCall>>();
  /** The only client there is, when there is one by design. */
  #only: Server | undefined;

  /** There is one client, this one: whatever is asked goes to it. */
  only(server: Server): void {
    this.#only = server;
  }

  /** Marks a call as under way; the result takes the mark away. */
  began(name: string, call: OpenCall): () => void {
    const calls = this.#calls.get(name) ?? new Set();
    this.#calls.set(name, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0) this.#calls.delete(name);
    };
  }

  /** Handlers for a runtime whose clients can do what `capabilities` say. */
  handlers({ sampling, elicitation, roots }: ClientCapabilities): AgentHandlers {
    return {
      ...(sampling !== undefined && {
        sampling: (params, context) => this.#ask('sampling/createMessage', 'sampling', params, context),
      }),
      ...(elicitation !== undefined && {
        elicitation: async (params, context) => {
          const client = this.#client(context.server)?.server.getClientCapabilities()?.elicitation;
          const able = params.mode === 'url' ? client?.url !== undefined : client !== undefined;
          if (!able) return { action: 'cancel' };
          const answer = await this.#ask('elicitation/create', 'elicitation', params, context);
          return answer as unknown as ElicitationAnswer;
        },
      }),
      ...(roots !== undefined && {
        roots: async (context) => {
          const answer = await this.#ask('roots/list', 'roots', {}, context);
          return Array.isArray(answer.roots) ? (answer.roots as Root[]) : [];
        },
      }),
    };
  }

  async #ask(
    method: string,
    capability: 'sampling' | 'elicitation' | 'roots',
    params: Record<string, unknown>,
    { server: name, signal }: AskContext,
  ): Promise<Record<string, unknown>> {
    const client = this.#client(name);
    if (client?.server.getClientCapabilities()?.[capability] === undefined) {
      const why = client === undefined ? 'no single client has a call there' : 'the client does not offer it';
      throw new BulkheadError('UNSUPPORTED', `${method} of server "${name}" was not passed on: ${why}`, {
        server: name,
      });
    }
    const { server, requestId } = client;
    return server.request({ method, params } as Parameters<Server['request']>[0], ResultSchema, {
      signal,
      timeout: PATIENCE_MS,
      ...(requestId === undefined ? {} : { relatedRequestId: requestId }),
    });
  }

  #client(name: string): { server: Server; requestId?: string | number } | undefined {
    const calls = [...(this.#calls.get(name) ?? [])];
    const last = calls.at(-1);
    if (last !== undefined && calls.every(({ server }) => server === last.server)) return last;
    return this.#only === undefined ? undefined : { server: this.#only };
  }
}
