/** What the hooks of a session are made with, and what they give back. */
import type { HookProblem } from './event.js';
import type { FunctionHook } from './function-hook.js';
import type { HookRule } from './rule.js';

/** The hooks of a session, and the limits on what waits for them. */
export interface HooksOptions {
  /** From `loadHooks()`. They run before `functions`, which so have the last word. */
  rules?: readonly HookRule[];
  functions?: readonly FunctionHook[];
  /** Id of the session, for the hooks. Default a random UUID. */
  session?: string;
  /** Where commands run: the project. Default `process.cwd()`. */
  cwd?: string;
  /** Host variables, of which an allow-list reaches commands. Default `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Failures, and notices that were lost. Default: silence. */
  onProblem?: (problem: HookProblem) => void;
  /** Notices waiting for one PostToolUse hook; more are dropped. Default 256. */
  queueMax?: number;
  /** Bytes of notices waiting for one PostToolUse hook. Default 16 MiB. */
  queueMaxBytes?: number;
}

/** What all PreToolUse hooks together say about a call. */
export type PreToolUseDecision =
  /** `changedBy` names the hooks that replaced the arguments, in order. */
  | {
      readonly decision: 'allow';
      readonly args: Readonly<Record<string, unknown>>;
      readonly changedBy: string[];
    }
  /** `reason` is a sentence for the model. */
  | { readonly decision: 'block'; readonly reason: string; readonly hook: string };

/** What `Hooks.close()` could not deliver. */
export interface HooksReport {
  /** Notices that found no room. */
  dropped: number;
  /** Notices that the deadline cut off. */
  unfinished: number;
}
