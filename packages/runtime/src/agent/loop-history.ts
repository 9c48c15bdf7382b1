/**
 * Conversations as every provider takes them: each call has exactly one answer, right behind the message that made it,
 * and no two calls share an id. What a crash, an abort or a careless gateway left otherwise is mended. Pure.
 */
import type { AssistantPart, Message, ModelCall } from './models/model.js';
import type { ModelResult } from './providers/profile.js';

/** Calls of one message, in order. */
export function callsOf(content: readonly AssistantPart[]): ModelCall[] {
  return content.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
}

export function textOf(content: readonly AssistantPart[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

/** The error that answers a call which was never run. */
export function unanswered({ callId, name }: Pick<ModelCall, 'callId' | 'name'>, why: string): ModelResult {
  return { callId, name, isError: true, parts: [{ type: 'text', text: why }] };
}

/** The conversation with an answer for every call, in the order of the calls; answers to no call are dropped. */
export function mended(messages: readonly Message[]): Message[] {
  const whole: Message[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') continue;
    whole.push(message);
    if (message.role !== 'assistant') continue;
    const calls = callsOf(message.content);
    if (calls.length === 0) continue;
    const next = messages[index + 1];
    const given = new Map(next?.role === 'tool' ? next.results.map((result) => [result.callId, result]) : []);
    const lost = 'No answer was kept: the session ended before it came. The call may have been run.';
    const results = calls.map((call) => given.get(call.callId) ?? unanswered(call, lost));
    whole.push({ role: 'tool', results });
  }
  return whole;
}

/**
 * What models and gateways call their calls, made fit to be sent back: some give no ids, or the same ones in every answer,
 * and a name with a sign that a provider refuses would make every later request fail.
 */
export class CallIds {
  readonly #taken = new Set<string>();

  constructor(messages: readonly Message[]) {
    for (const message of messages) {
      if (message.role !== 'assistant') continue;
      for (const { callId } of callsOf(message.content)) this.#taken.add(callId);
    }
  }

  /** The message with ids that no other call of the conversation has, and with names that tools can have. */
  kept(content: readonly AssistantPart[]): AssistantPart[] {
    return content.map((part) =>
      part.type === 'tool-call'
        ? { ...part, callId: this.#take(plain(part.callId)), name: plain(part.name) || 'unnamed' }
        : part,
    );
  }

  #take(wanted: string): string {
    const base = wanted || 'call';
    let id = base;
    for (let count = 2; this.#taken.has(id); count++) id = `${base}-${count}`;
    this.#taken.add(id);
    return id;
  }
}

/** As providers want names and ids; those that are so already stay as they are. */
function plain(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
}
