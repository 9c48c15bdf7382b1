/**
 * Durations as people write them: `"500ms"`, `"30s"`, `"2m"`, `"1h"`, or a plain number of milliseconds.
 * Pure. Used by the config files, by `MCP_TIMEOUT` and by the command line.
 */

const unitMs = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** What a person may write; quoted in messages. */
export const durationForms = 'milliseconds (5000) or a text such as "500ms", "30s", "2m", "1h"';

/**
 * Milliseconds of a duration, rounded up to a whole number.
 *
 * @param value a number (ms) or a text of digits with `ms`, `s`, `m`, `h` or `d`; digits alone are ms.
 * @returns an integer ≥ 0. Limits beyond that are the caller's.
 * @throws {TypeError} saying what was expected and what came.
 */
export function parseDuration(value: number | string): number {
  const ms = typeof value === 'number' ? value : parseText(value);
  if (ms === undefined || !Number.isFinite(ms) || ms < 0 || ms > Number.MAX_SAFE_INTEGER) {
    throw new TypeError(`expected ${durationForms}, got ${typeof value === 'string' ? `"${value}"` : value}`);
  }
  return Math.ceil(ms);
}

function parseText(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  if (match === null) return undefined;
  const factor = unitMs.get(match[2]?.toLowerCase() || 'ms');
  if (factor === undefined) return undefined;
  // 0.07h is 252000.00000000003 in binary, and the last step rounds up.
  return Math.round(Number(match[1]) * factor * 1_000) / 1_000;
}
