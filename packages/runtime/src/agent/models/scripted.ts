/**
 * A model that needs no network: it says what a script says, turn by turn, or what a function makes of the conversation.
 * For demos and tests; everything around it is real.
 */
import { BulkheadError } from '@bulkhead/workers';
import { anthropic } from '../providers/anthropic.js';
import type { MediaRules } from '../providers/profile.js';
import {
  type AssistantPart,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type ModelStop,
  NO_USAGE,
} from './model.js';

/** A call that the scripted model makes. */
export interface ScriptedCall {
  name: string;
  /** An object, or the text that the model wrote, which need not be JSON. Default `{}`. */
  args?: Readonly<Record<string, unknown>> | string;
  /** Default: a fresh one. */
  callId?: string;
}

/** One answer of the script. */
export interface ScriptedTurn {
  /** Streamed word by word. */
  text?: string;
  calls?: readonly ScriptedCall[];
  /** Default: `tool-calls` with calls, else `end`. */
  stop?: ModelStop;
  /** Thrown after the text, in place of an end. */
  error?: unknown;
}

/** Gives the turn for a conversation. `turn` counts the model's answers from 0. */
export type ScriptedAnswer = (
  request: ModelRequest,
  turn: number,
  signal: AbortSignal,
) => ScriptedTurn | Promise<ScriptedTurn>;

/** How the scripted model presents itself. */
export interface ScriptedOptions {
  /** Default `scripted`. */
  name?: string;
  /** What it takes in a tool's answer. Default: what Anthropic's models take. */
  media?: MediaRules;
}

/** A model that says what its script says; for tests and demonstrations. */
export interface ScriptedModel extends Model {
  /** What it was asked, in order. */
  readonly requests: readonly ModelRequest[];
}

/**
 * A model that needs no provider.
 * @param script The turns in order, or a function. Asked once more than it has turns, the model fails.
 */
export function scriptedModel(
  script: readonly ScriptedTurn[] | ScriptedAnswer,
  { name = 'scripted', media = anthropic.media }: ScriptedOptions = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  const answer: ScriptedAnswer =
    typeof script === 'function'
      ? script
      : (_, turn) => {
          const next = script[turn];
          if (next !== undefined) return next;
          throw new BulkheadError('BAD_INPUT', `the script of model "${name}" has no turn ${turn + 1}`);
        };
  let calls = 0;

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const turn = requests.push(request) - 1;
    const { text = '', calls: wanted = [], stop, error } = await answer(request, turn, signal);
    for (const piece of text.match(/\s*\S+\s*/g) ?? []) {
      signal.throwIfAborted();
      yield { type: 'text', text: piece };
    }
    if (error !== undefined) throw error;
    const content: AssistantPart[] = text === '' ? [] : [{ type: 'text', text }];
    for (const { name: tool, args = {}, callId = `call-${++calls}` } of wanted) {
      const argsText = typeof args === 'string' ? args : JSON.stringify(args);
      content.push({ type: 'tool-call', callId, name: tool, argsText });
    }
    yield {
      type: 'end',
      content,
      stop: stop ?? (wanted.length > 0 ? 'tool-calls' : 'end'),
      usage: NO_USAGE,
    };
  }
  return { name, provider: 'scripted', media, stream, requests };
}
