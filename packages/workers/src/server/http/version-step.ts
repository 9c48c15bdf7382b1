/**
 * The second proposal to a server that refuses a protocol version with an error instead of offering its own. Pure.
 */

/** Dates of revisions in text; they sort as text. */
const REVISION = /\b20\d\d-\d\d-\d\d\b/g;

/**
 * The best version that both sides know according to the error's text; else, when the error is about versions, the
 * next one below what was proposed. Undefined when it is about something else, or nothing is left.
 */
export function versionToTry(
  proposed: string,
  errorText: string,
  supported: readonly string[],
): string | undefined {
  if (!/version|unsupported/i.test(errorText)) return undefined;
  const known = supported.filter((version) => version !== proposed).sort((a, b) => b.localeCompare(a));
  const named = new Set(errorText.match(REVISION) ?? []);
  return known.find((version) => named.has(version)) ?? known.find((version) => version < proposed);
}
