/**
 * What a hook is told and what it may answer. Commands and HTTP hooks get it as JSON, functions as an object; the
 * words are the same, so a check can move from a script into the host and back.
 */
import type { BulkheadError, Outcome } from '../../api.js';
import type { Capability, Tool, ToolOutput } from '../tool.js';

export const hookEvents = ['SessionStart', 'PreToolUse', 'PostToolUse'] as const;
/** When a hook runs. */
export type HookEvent = (typeof hookEvents)[number];

/** Once, before the first prompt of a session. */
export interface SessionStartInput {
  event: 'SessionStart';
  session: string;
  /** Absolute directory of the project. */
  cwd: string;
}

/** Before every call, and before the permission gate: the gate judges the arguments that hooks leave. */
export interface PreToolUseInput {
  event: 'PreToolUse';
  session: string;
  cwd: string;
  /** The model's id of this call. */
  callId: string;
  /** Name as the model sees it. */
  tool: string;
  /** Null for the host's own tools. */
  server: string | null;
  /** Name on the wire; for the host's own tools the same as its identity's. */
  rawTool: string;
  capabilities: Capability[];
  /** Arguments as the hook before left them. */
  args: Record<string, unknown>;
}

/** After a call has ended, however it ended. */
export interface PostToolUseInput extends Omit<PreToolUseInput, 'event'> {
  event: 'PostToolUse';
  result: HookResult;
}

/** How the call ended that a PostToolUse hook is told of. */
export interface HookResult {
  outcome: Outcome;
  isError: boolean;
  durationMs: number;
  /** Code of the error, when the call ended without an answer. */
  code?: string;
  /** Text of the answer or of the error, at most 64 KiB of UTF-16 units; functions get it with `withText`. */
  text?: string;
  /** The text was longer. */
  truncated?: true;
}

/** What a hook is told: for commands and HTTP the JSON that they get, for functions the same as an object. */
export type HookInput = SessionStartInput | PreToolUseInput | PostToolUseInput;

/** What a hook may say. Which members count depends on the event; the others are ignored. */
export interface HookAnswer {
  /** PreToolUse. Default `allow`, which never overrules the permission gate. */
  decision?: 'allow' | 'block';
  /** A sentence for the model and the person: why it is blocked. */
  reason?: string;
  /** PreToolUse: the whole new arguments, JSON. */
  args?: Record<string, unknown>;
  /** SessionStart: text for the model's context. */
  context?: string;
}

/** One call, as hooks are told about it. */
export interface HookedCall {
  readonly callId: string;
  readonly tool: Pick<Tool, 'name' | 'identity' | 'capabilities'>;
  readonly args: Readonly<Record<string, unknown>>;
}

/** How a call ended: with an answer (an error of the tool included), or with an error of the way there. */
export type CallEnd =
  | { readonly output: ToolOutput; readonly durationMs: number }
  | { readonly error: BulkheadError | Error; readonly durationMs: number };

/** Something that went wrong with a hook; nothing of it stops the session. */
export interface HookProblem {
  /** Which hook, as a person finds it: `file:line`, or the name of a function. */
  hook: string;
  event: HookEvent;
  /** A sentence with the next step. */
  message: string;
}
