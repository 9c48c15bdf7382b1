/**
 * Results that are no end: in the stateless era a server that needs something of the agent answers `input_required`
 * with its questions, and the client sends the same request again with the answers. What such a result holds, when it
 * is refused, and how the answers are written. Pure.
 */
import { walkMembers } from '../json-span.js';

/** Rounds of one call; a server that keeps asking would otherwise never end it. */
export const MAX_ROUNDS = 8;

export interface InputRequired {
  /** The questions by the server's own keys. */
  requests: Map<string, { method: string; params: Record<string, unknown> }>;
  /** Handed back exactly as it came. */
  state: string | undefined;
  /** What makes it unusable. */
  malformed: string | undefined;
}

/** Undefined for a result that ends the call. */
export function needsInput(result: Record<string, unknown>): InputRequired | undefined {
  if (result.resultType !== 'input_required') return undefined;
  const requests: InputRequired['requests'] = new Map();
  let malformed: string | undefined;
  for (const [key, value] of Object.entries(result.inputRequests ?? {})) {
    const { method, params } = (value ?? {}) as { method?: unknown; params?: unknown };
    if (typeof method === 'string') requests.set(key, { method, params: isObject(params) ? params : {} });
    else malformed = `its question ${JSON.stringify(key)} has no method`;
  }
  const state = typeof result.requestState === 'string' ? result.requestState : undefined;
  if (requests.size === 0 && state === undefined) malformed ??= 'it holds neither a question nor a state';
  return { requests, state, malformed };
}

/** Why these questions end the call; undefined when they can be asked. `round` counts from 1. */
export function inputProblem(
  { requests, malformed }: InputRequired,
  round: number,
  answers: ReadonlySet<string>,
): string | undefined {
  if (malformed !== undefined) return `the server asks for input with an unusable message: ${malformed}`;
  for (const { method } of requests.values()) {
    if (!answers.has(method))
      return `the server asks for ${method}, which this client did not declare; give the runtime a handler for it`;
  }
  return round > MAX_ROUNDS ? `the server asked for input more than ${MAX_ROUNDS} times` : undefined;
}

/** Members of `params` for the next round, each with a comma in front. */
export function answersText(answers: ReadonlyMap<string, unknown>, state: string | undefined): string {
  const responses =
    answers.size === 0 ? '' : `,"inputResponses":${JSON.stringify(Object.fromEntries(answers))}`;
  return state === undefined ? responses : `${responses},"requestState":${JSON.stringify(state)}`;
}

/** Whether a result that was not parsed asks for input; `start` is where it begins. */
export function largeNeedsInput(bytes: Buffer, start: number): boolean {
  const text = bytes.toString('latin1');
  let asks = false;
  walkMembers(text, start, (name, span) => {
    if (name === 'resultType') asks = text.slice(span.start, span.end) === '"input_required"';
  });
  return asks;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
