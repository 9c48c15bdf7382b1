/** The agent's answers to what servers ask: runs the handlers, fills defaults, and never throws across the port. */
import { AUTHORIZE, encodeError, type HandlerSet, type LaneAsk, type WireError } from '@bulkhead/workers';
import type { AgentHandlers, AskContext, ElicitationAnswer } from './api.js';

/** 1 with the result, 0 with the error, as JSON text. */
export type AskAnswer = [1 | 0, string];

export class AskDesk {
  readonly #handlers: AgentHandlers;

  constructor(handlers: AgentHandlers) {
    this.#handlers = handlers;
  }

  get offered(): HandlerSet {
    const { sampling, elicitation, roots, authorize } = this.#handlers;
    return {
      sampling: sampling !== undefined,
      elicitation: elicitation !== undefined,
      roots: roots !== undefined,
      authorize: authorize !== undefined,
    };
  }

  get canElicit(): boolean {
    return this.#handlers.elicitation !== undefined;
  }

  /** `[1, resultText]` or `[0, errorText]`. */
  async answer(
    server: string,
    ask: Extract<LaneAsk, { type: 'ask' }>,
    signal: AbortSignal,
  ): Promise<AskAnswer> {
    try {
      const result = await this.#run(ask.method, ask.params, { server, signal });
      return [1, JSON.stringify(result)];
    } catch (error) {
      return [0, JSON.stringify(encodeError(error))];
    }
  }

  /** Sends the person to each URL of a -32042 error; true when all were accepted. */
  async visitUrls(server: string, { data }: WireError): Promise<boolean> {
    const { elicitation } = this.#handlers;
    const asked = (data?.jsonRpcData as { elicitations?: unknown } | undefined)?.elicitations;
    if (elicitation === undefined || !Array.isArray(asked) || asked.length === 0) return false;
    try {
      for (const params of asked as Record<string, unknown>[]) {
        const context = { server, signal: new AbortController().signal };
        const { action } = await elicitation({ ...params, mode: 'url' }, context);
        if (action !== 'accept') return false;
      }
      return true;
    } catch {
      return false;
    }
  }

  async #run(method: string, params: Record<string, unknown>, context: AskContext): Promise<unknown> {
    const { sampling, elicitation, roots, authorize } = this.#handlers;
    if (method === AUTHORIZE && authorize) {
      await authorize(String(params.url), context);
      return {};
    }
    if (method === 'sampling/createMessage' && sampling) return sampling(params, context);
    if (method === 'elicitation/create' && elicitation)
      return withDefaults(params, await elicitation(params, context));
    if (method === 'roots/list' && roots) return { roots: await roots(context) };
    throw new Error(`no handler for ${method}`);
  }
}

/** Fields that an accepted form leaves out get the default of the requested schema (SEP-1034). */
function withDefaults(params: Record<string, unknown>, answer: ElicitationAnswer): ElicitationAnswer {
  const properties = (
    params.requestedSchema as { properties?: Record<string, { default?: unknown }> } | undefined
  )?.properties;
  if (answer.action !== 'accept' || properties === undefined) return answer;
  const defaults = Object.entries(properties).filter(([, schema]) => schema?.default !== undefined);
  return {
    ...answer,
    content: {
      ...Object.fromEntries(defaults.map(([name, schema]) => [name, schema.default])),
      ...answer.content,
    },
  };
}
