/**
 * Questions to a person about one call, and their answers. One question is one call: two calls never share an answer.
 * Nobody there, no clear answer, or a call that was given up: all of these are a no.
 */
import type { CallRoute, Capability, GateDecision, GateRequest, ToolIdentity } from './tool.js';

/** What a person is asked before a call is made. */
export interface Question {
  /**
   * What it is about: whether the call may be made at all, whether a tool may be used although its definition changed,
   * or whether what a confidential server said may go somewhere else.
   */
  readonly kind: 'permission' | 'changed' | 'data-flow';
  readonly callId: string;
  readonly route: CallRoute;
  readonly identity: ToolIdentity;
  readonly capabilities: ReadonlySet<Capability>;
  /** The arguments as they would be sent. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Why it is asked: a sentence that names server and tool. */
  readonly reason: string;
  /** Aborted when the call was given up: the answer does not matter any more. */
  readonly signal: AbortSignal | undefined;
}

/** What a person said to a {@link Question}. */
export interface Answer {
  readonly allow: boolean;
  /** How long the answer holds for later calls of the same kind. Default: for this call alone. */
  readonly remember?: 'session' | 'always';
  /** Told to the caller, and so to the model, when the answer is no. */
  readonly reason?: string;
}

/** There is no time limit: a person answers when a person answers. */
export type OnAsk = (question: Question) => Promise<Answer> | Answer;

export interface Answered {
  readonly decision: GateDecision;
  /** Set when the answer holds for later calls too. */
  readonly remember?: 'session' | 'always';
}

/** Asks, and turns whatever comes back into a decision. Never rejects. */
export async function askPerson(
  onAsk: OnAsk | undefined,
  kind: Question['kind'],
  { callId, route, identity, capabilities, args, signal }: GateRequest,
  reason: string,
): Promise<Answered> {
  if (onAsk === undefined)
    return no(`${reason}, and nobody can be asked; give onAsk, or a rule that allows it`);
  if (signal?.aborted) return no('the call was given up');
  try {
    const question = { kind, callId, route, identity, capabilities, args, reason, signal };
    const answer: Answer | undefined = await unlessAborted(onAsk(question), signal);
    const remember =
      answer?.remember === 'session' || answer?.remember === 'always' ? { remember: answer.remember } : {};
    if (answer?.allow === true) return { decision: { allow: true }, ...remember };
    return { ...no(answer?.reason ?? `a person refused it (${reason})`), ...remember };
  } catch (error) {
    if (signal?.aborted) return no('the call was given up while a person was asked');
    return no(`asking a person failed: ${error instanceof Error ? error.message : error}`);
  }
}

/** How a call is named in a sentence. */
export function nameOf({ identity, route, args }: Pick<GateRequest, 'identity' | 'route' | 'args'>): string {
  if (identity.kind === 'local') return `the local tool "${identity.tool}"`;
  const server = `server "${identity.server}"`;
  if (route === 'resource') return `resource "${args.uri}" of ${server}`;
  if (route === 'prompt')
    return typeof args.name === 'string'
      ? `prompt "${args.name}" of ${server}`
      : `${identity.tool} of ${server}`;
  return `tool "${identity.tool}" of ${server}`;
}

function no(reason: string): Answered {
  return { decision: { allow: false, reason } };
}

async function unlessAborted<T>(value: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return value;
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
