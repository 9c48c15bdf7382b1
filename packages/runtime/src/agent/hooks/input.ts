/** What is told about one call, built from the call and its end: plain JSON, with the text of a result cut to size. */
import { BulkheadError } from '@bulkhead/workers';
import { blockText } from '../../content.js';
import type { ToolOutput } from '../tool.js';
import type { CallEnd, HookedCall, HookInput, HookResult, PreToolUseInput } from './event.js';

const TEXT_MAX_LENGTH = 64 * 1024;

export function callInput<E extends 'PreToolUse' | 'PostToolUse'>(
  event: E,
  { session, cwd }: { session: string; cwd: string },
  { callId, tool, args }: HookedCall,
): Omit<PreToolUseInput, 'event'> & { event: E } {
  const { identity } = tool;
  return {
    event,
    session,
    cwd,
    callId,
    tool: tool.name,
    server: identity.kind === 'mcp' ? identity.server : null,
    rawTool: identity.tool,
    capabilities: [...tool.capabilities],
    args,
  };
}

export function resultInput(end: CallEnd, withText: boolean): HookResult {
  const { durationMs } = end;
  if ('error' in end) {
    const { error } = end;
    const known = error instanceof BulkheadError;
    return {
      outcome: known ? error.outcome : 'tool_error',
      isError: true,
      durationMs,
      ...(known ? { code: error.code } : {}),
      ...(withText ? cut(error.message) : {}),
    };
  }
  const { output } = end;
  const text = withText ? cut(textOf(output)) : {};
  return { outcome: output.isError ? 'tool_error' : 'ok', isError: output.isError, durationMs, ...text };
}

/** Undefined when the arguments are no JSON: cyclic, too deep, or with a big integer in them. */
export function payloadOf(input: HookInput): string | undefined {
  try {
    return JSON.stringify(input);
  } catch {
    return undefined;
  }
}

function textOf({ result, content }: ToolOutput): string {
  try {
    return result?.text() ?? (content ?? []).map(blockText).join('\n');
  } catch (error) {
    return `[the result could not be read: ${error instanceof Error ? error.message : String(error)}]`;
  }
}

function cut(text: string): Pick<HookResult, 'text' | 'truncated'> {
  if (text.length <= TEXT_MAX_LENGTH) return { text: text.toWellFormed() };
  return { text: text.slice(0, TEXT_MAX_LENGTH).toWellFormed(), truncated: true };
}
