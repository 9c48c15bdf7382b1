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

export interface SessionStartHook extends FunctionHookBase {
  readonly event: 'SessionStart';
  run(input: SessionStartInput, signal: AbortSignal): Awaitable<Pick<HookAnswer, 'context'> | undefined>;
}

export interface PreToolUseHook extends FunctionHookBase {
  readonly event: 'PreToolUse';
  /** Default: every tool. */
  readonly match?: ToolMatch;
  /** What a throw, a timeout or an unusable answer means. Default `block`. */
  readonly onError?: 'block' | 'allow';
  run(input: PreToolUseInput, signal: AbortSignal): Awaitable<HookAnswer | undefined>;
}

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

export type FunctionHook = SessionStartHook | PreToolUseHook | PostToolUseHook;
