/** What a run tells while it goes on, for interfaces that show it. Events of parallel calls come as each of them moves. */
import type { Outcome } from '../api.js';
import type { Message, Usage } from './models/model.js';
import type { ResultPart } from './tool.js';

/** Why a run ended. Its messages can be gone on with whatever the reason. */
export type StopReason =
  /** The model had nothing more to do. */
  | 'end'
  | 'max_steps'
  /** The answer was cut at its limit of tokens; calls in it were not run. */
  | 'max_tokens'
  /** The conversation no longer fits into the model's context. */
  | 'context_full'
  /** The model, or its provider, would not answer. */
  | 'refusal'
  | 'aborted'
  /** The model failed, or the tools could not be read: see `error`. */
  | 'error';

/** How a run ended. A run does not reject for what went wrong in it: `stopReason` and `error` say it. */
export interface RunResult {
  /** The whole conversation: the messages that were given, mended where calls had no answer, and those of the run. */
  readonly messages: readonly Message[];
  /** Of the model's last answer; empty when it gave none. */
  readonly text: string;
  /** How many answers the model was asked for. */
  readonly steps: number;
  readonly stopReason: StopReason;
  /** Set with `error`. */
  readonly error?: Error;
  /** Of all answers, those of sub-agents included. */
  readonly usage: Usage;
}

/** Something that one call does before it ends. */
export type CallEvent =
  /** A hook or a gate has decided. MCP tools are asked about by their runtime, which tells of its refusals only. */
  | {
      readonly type: 'permission';
      readonly callId: string;
      readonly name: string;
      readonly by: 'hook' | 'gate';
      readonly allow: boolean;
      readonly reason?: string;
    }
  /** Hooks replaced the arguments. */
  | {
      readonly type: 'arguments';
      readonly callId: string;
      readonly name: string;
      readonly args: Readonly<Record<string, unknown>>;
      readonly changedBy: readonly string[];
    }
  | {
      readonly type: 'progress';
      readonly callId: string;
      readonly name: string;
      readonly progress: number;
      readonly total?: number;
      readonly message?: string;
    };

/** What happens in a run, in order. Told by `onEvent` and by iterating the run. */
export type AgentEvent =
  /** The model is about to be asked; counts from 1. */
  | { readonly type: 'step'; readonly step: number }
  /** The part of the prompt that comes from servers and hooks differs from the step before; empty when it is gone. */
  | { readonly type: 'instructions'; readonly text: string }
  /** Tools that this model cannot be offered; told again only when they are others. */
  | {
      readonly type: 'omitted';
      readonly tools: readonly { readonly tool: string; readonly reason: string }[];
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** Stands in the conversation from now on. */
  | { readonly type: 'message'; readonly message: Message }
  | {
      readonly type: 'tool-call';
      readonly callId: string;
      readonly name: string;
      /** Undefined when the model wrote no JSON of an object. */
      readonly args: Readonly<Record<string, unknown>> | undefined;
    }
  | CallEvent
  | {
      readonly type: 'tool-result';
      readonly callId: string;
      readonly name: string;
      readonly isError: boolean;
      readonly outcome: Outcome;
      /** As the model gets it. */
      readonly parts: readonly ResultPart[];
      readonly durationMs: number;
      /** Holds the whole text, when it was cut. */
      readonly file?: string;
    }
  | { readonly type: 'end'; readonly result: RunResult };
