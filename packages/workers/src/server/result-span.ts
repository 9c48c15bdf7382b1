/**
 * Where the result stands in the text of an answer, so that it can be passed on as the server wrote it. Its parsed form is
 * known already; what is looked for are two offsets. Pure.
 */
import { memberSpans, type Span } from '../json-span.js';

/**
 * The span of the exact text of the `result` member. `text` is a message that was read as a response with a result,
 * `value` its parsed form.
 */
export function resultSpan(text: string, value: Record<string, unknown>): Span {
  const span =
    resultBetween(text, `{"jsonrpc":"2.0","id":${value.id},"result":`, '}') ??
    resultBetween(text, '{"result":', `,"jsonrpc":"2.0","id":${value.id}}`) ??
    memberSpans(text).get('result');
  if (span === undefined) throw new SyntaxError('the message has no result member');
  return span;
}

/** The same in bytes. Every byte of a multi-byte character is above ASCII, so Latin-1 keeps the offsets. */
export function resultSpanBytes(bytes: Buffer, value: Record<string, unknown>): Span {
  return resultSpan(bytes.toString('latin1'), value);
}

/** The end of an object, then a name that the envelope may have, perhaps spelt with escapes. */
const NEXT_MEMBER = /\}\s*,\s*"(?:jsonrpc"|id"|result"|error"|method"|[a-z]*\\u00[67])/g;

/**
 * Fast path for the two usual orders of members. The result is an object, so any member that followed it would show
 * as the end of an object, a comma and one of the envelope's names. If that appears nowhere, the result reaches from
 * head to tail. Otherwise (also when a tool's own data looks like that) the text is scanned.
 */
function resultBetween(text: string, head: string, tail: string): Span | undefined {
  if (!text.startsWith(head) || !text.endsWith(tail)) return undefined;
  const start = head.length;
  const end = text.length - tail.length;
  if (text[start] !== '{' || text[end - 1] !== '}') return undefined;
  NEXT_MEMBER.lastIndex = start;
  const next = NEXT_MEMBER.exec(text);
  return next === null || next.index === end - 1 ? { start, end } : undefined;
}
