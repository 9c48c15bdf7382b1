/**
 * A hook's answer, checked: what a command printed, what an HTTP hook sent, what a function gave. Whatever cannot be
 * understood is a failure and never a silent "go on": a guard that speaks unclearly has not agreed.
 */
import { isRecord } from '../../content.js';
import type { HookAnswer, HookEvent } from './event.js';

export const OUTPUT_MAX_BYTES = 64 * 1024;
const REASON_MAX_LENGTH = 2_000;

/** How one run of a hook ended. `failed` is left to the hook's `onError`. */
export type HookVerdict =
  | { readonly kind: 'answer'; readonly answer: HookAnswer }
  | { readonly kind: 'failed'; readonly message: string };

export const failed = (message: string): HookVerdict => ({ kind: 'failed', message });

/**
 * Text that a hook gave back. JSON decides; other text is context for SessionStart and nothing for PreToolUse, whose
 * scripts may well print a line for people.
 */
export function answerOfText(event: HookEvent, text: string): HookVerdict {
  const trimmed = text.trim();
  if (trimmed === '') return { kind: 'answer', answer: {} };
  if (!trimmed.startsWith('{')) {
    return { kind: 'answer', answer: event === 'SessionStart' ? { context: trimmed.toWellFormed() } : {} };
  }
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return failed(`its output starts like a JSON object but is none: ${reasonText(why)}`);
  }
  return answerOfValue(event, value);
}

/** A value that a hook gave back; undefined and null are no answer, which is to go on. */
export function answerOfValue(event: HookEvent, value: unknown): HookVerdict {
  if (value === undefined || value === null) return { kind: 'answer', answer: {} };
  if (!isRecord(value)) return failed('its answer is no object');
  const answer: HookAnswer = {};
  if (event === 'SessionStart') {
    if (value.context === undefined || value.context === null) return { kind: 'answer', answer };
    if (typeof value.context !== 'string') return failed('`context` of its answer is no text');
    return { kind: 'answer', answer: { context: value.context.toWellFormed() } };
  }
  const { decision, reason, args } = value;
  if (decision !== undefined && decision !== null) {
    if (decision !== 'allow' && decision !== 'block') {
      return failed('`decision` of its answer is neither "allow" nor "block"');
    }
    answer.decision = decision;
  }
  if (typeof reason === 'string') answer.reason = reasonText(reason);
  if (args !== undefined && args !== null) {
    const plain = jsonObject(args);
    if (plain === undefined) return failed('`args` of its answer is no JSON object');
    answer.args = plain;
  }
  return { kind: 'answer', answer };
}

/** One readable sentence out of what a hook said. */
export function reasonText(text: string): string {
  const clean = text.toWellFormed().trim();
  return clean.length > REASON_MAX_LENGTH ? `${clean.slice(0, REASON_MAX_LENGTH).toWellFormed()}…` : clean;
}

/** A copy by way of JSON: what a function gives may hold anything, and may change later. */
function jsonObject(value: unknown): Record<string, unknown> | undefined {
  if (!isRecord(value)) return undefined;
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    return isRecord(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}
