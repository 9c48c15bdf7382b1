/** One hook of a file, checked and ready to run. */
import type { CommandAction } from './command.js';
import type { HookEvent } from './event.js';
import type { HttpAction } from './http.js';
import type { ToolMatch } from './matcher.js';

/** One hook of a file, checked and ready to run. */
export interface HookRule {
  readonly event: HookEvent;
  /** Empty for SessionStart. */
  readonly match: ToolMatch;
  readonly action: CommandAction | HttpAction;
  /** Of one run. */
  readonly timeoutMs: number;
  /** PreToolUse: what a failure means. Default `block`: a guard that is broken does not open the gate. */
  readonly onError: 'block' | 'allow';
  /** `file:line`. */
  readonly place: string;
}
