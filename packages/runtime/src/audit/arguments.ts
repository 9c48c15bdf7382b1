/** What may be written down of a call's arguments: their hash, or a bounded copy without secrets. Pure. */
import { createHash } from 'node:crypto';
import { isRecord } from '../content.js';

/** SHA-256 (hex) of the JSON text with the keys of every object sorted: the order in which a model wrote them is chance. */
export function argumentsHash(args: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(JSON.stringify(args, sortedKeys)).digest('hex');
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const SECRET =
  /pass(word|phrase|wd)?|secret|token|api[-_]?key|auth|credential|cookie|private[-_]?key|session/i;
const TEXT_MAX_LENGTH = 200;
const ITEMS_MAX = 50;
const DEPTH_MAX = 6;

/**
 * A copy fit for a log. Keys decide, so a secret under a harmless name stays, unless `mask` knows its value.
 * @param mask a text without the values that are known to be secret.
 */
export function redacted(value: unknown, mask = (text: string) => text, depth = 0): unknown {
  if (typeof value === 'string') {
    const text = mask(value);
    const left = text.length - TEXT_MAX_LENGTH;
    return left <= 0 ? text : `${text.slice(0, TEXT_MAX_LENGTH).toWellFormed()}[… ${left} more]`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === DEPTH_MAX) return '[deeper values left out]';
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((item) => redacted(item, mask, depth + 1));
    return value.length <= ITEMS_MAX ? items : [...items, `[… ${value.length - ITEMS_MAX} more]`];
  }
  const members = Object.entries(value);
  const shown = members
    .slice(0, ITEMS_MAX)
    .map(([key, member]) => [mask(key), SECRET.test(key) ? '[redacted]' : redacted(member, mask, depth + 1)]);
  if (members.length > ITEMS_MAX) shown.push(['…', `[${members.length - ITEMS_MAX} more]`]);
  return Object.fromEntries(shown);
}
