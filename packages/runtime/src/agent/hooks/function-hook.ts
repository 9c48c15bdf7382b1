/** Hooks that are functions of the host: same input, same answer, same timeouts as those of `hooks.json`. */
import type { HookAnswer, PostToolUseInput, PreToolUseInput, SessionStartInput } from './event.js';
import type { ToolMatch } from './matcher.js';

interface FunctionHookBase {
  /** For messages. */
  readonly name: string;
  /** Default 10 000; the function's signal aborts then, and its answer no longer counts. */
  readonly timeoutMs?: number;
}

type Awaitable<T> = T | Promise<T>;

/** Runs once, when a session begins, and may add context to the prompt. */
export interface SessionStartHook extends FunctionHookBase {
  readonly event: 'SessionStart';
  /** May give context for the prompt. The signal aborts when the time is over. */
  run(input: SessionStartInput, signal: AbortSignal): Awaitable<Pick<HookAnswer, 'context'> | undefined>;
}

/** Runs before a call: may block it, or replace its arguments. */
export interface PreToolUseHook extends FunctionHookBase {
  readonly event: 'PreToolUse';
  /** Default: every tool. */
  readonly match?: ToolMatch;
  /** What a throw, a timeout or an unusable answer means. Default `block`. */
  readonly onError?: 'block' | 'allow';
  /** Its answer; undefined lets the call pass as it is. The signal aborts when the time is over. */
  run(input: PreToolUseInput, signal: AbortSignal): Awaitable<HookAnswer | undefined>;
}

/** Observes calls that ended; it can change nothing and holds nobody up. */
export interface PostToolUseHook extends FunctionHookBase {
  readonly event: 'PostToolUse';
  readonly match?: ToolMatch;
  /** Give `result.text`. Default false: decoding a large result costs the agent's thread. */
  readonly withText?: boolean;
  /** Calls come one after the other, in the order in which they ended. */
  run(input: PostToolUseInput, signal: AbortSignal): Awaitable<void>;
  /** After the last call, inside the deadline of `Hooks.close()`. */
  close?(): Promise<void>;
  /** Called once before use: where the hook's own troubles go. */
  attach?(report: (message: string) => void): void;
}

/** A hook that is a function of the host, by the event that it is for. */
export type FunctionHook = SessionStartHook | PreToolUseHook | PostToolUseHook;
