/**
 * Handlers of an attached agent: its own, and for what it has none the owner's, reached over the control connection.
 * What was declared to the servers is what the owner offers, so nothing is asked that nobody answers.
 */
import { BulkheadError, decodeError, type HandlerSet } from '@bulkhead/workers';
import type { AgentHandlers, AskContext, ElicitationAnswer, Root } from './api.js';
import type { AskDesk } from './asks.js';

export type AskOwner = (
  server: string,
  method: string,
  params: Record<string, unknown>,
) => Promise<Record<string, unknown>>;

export function withOwner(own: AgentHandlers, offered: HandlerSet, ask: AskOwner): AgentHandlers {
  const forward =
    (method: string) =>
    (params: Record<string, unknown>, { server }: AskContext) =>
      ask(server, method, params);
  return {
    ...(offered.sampling && { sampling: forward('sampling/createMessage') }),
    ...(offered.elicitation && {
      elicitation: async (params, { server }) =>
        (await ask(server, 'elicitation/create', params)) as unknown as ElicitationAnswer,
    }),
    ...(offered.roots && {
      roots: async ({ server }) => (await ask(server, 'roots/list', {})).roots as Root[],
    }),
    ...own,
  };
}

/**
 * The owner's part: its handlers answer for an attached agent.
 * @throws {BulkheadError} what the handler threw, or `TIMEOUT` after `askTimeoutMs`.
 */
export async function answerFor(
  asks: AskDesk,
  ask: { server: string; method: string; params: Record<string, unknown> },
  askTimeoutMs: number,
): Promise<Record<string, unknown>> {
  const { server, method, params } = ask;
  const signal = AbortSignal.timeout(askTimeoutMs);
  const late = new Promise<never>((_, reject) => {
    const message = `no answer to ${method} within askTimeoutMs (${askTimeoutMs} ms)`;
    signal.addEventListener('abort', () => reject(new BulkheadError('TIMEOUT', message, { server })));
  });
  const answered = asks.answer(server, { type: 'ask', id: 0, method, params }, signal);
  const [ok, text] = await Promise.race([answered, late]);
  if (ok === 0) throw decodeError(JSON.parse(text));
  return JSON.parse(text);
}
