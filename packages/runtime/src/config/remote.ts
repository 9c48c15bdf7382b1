/** URL and headers of a remote server: what HTTP would refuse is refused here, with the field that holds it. */
import type { Finding } from './entry.js';
import type { ExpandField } from './field.js';

/** What is wrong with an expanded URL; the message shows it as written. */
export function urlProblem(url: string, written: string): Finding | undefined {
  const fail = (message: string, hint: string): Finding => ({
    severity: 'error',
    path: ['url'],
    message,
    hint,
  });
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) return fail(`"${written}" is no URL`, 'write it whole: https://host/path');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    return fail(
      `"${parsed.protocol}" URLs are not supported`,
      'MCP servers are reached over http: or https:',
    );
  }
  if (parsed.username !== '' || parsed.password !== '') {
    return fail('holds a user name or password', 'move it to "headers": {"Authorization": "Basic …"}');
  }
  return undefined;
}

/** Expanded headers, trimmed, sorted by name; the last of two that differ only in case counts. */
export function headersOf(
  written: ReadonlyMap<string, string>,
  field: ExpandField,
  findings: Finding[],
): [string, string][] {
  const headers = new Map<string, [string, string]>();
  for (const [name, text] of written) {
    const path = ['headers', name];
    // Values read from files often end in a newline; HTTP trims the ends anyway.
    const value = field(text, path).trim();
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      const hint = 'use letters, digits and "-"';
      findings.push({ severity: 'error', path, message: 'is no name of a header', hint });
    } else if (!isHeaderValue(value)) {
      const message = 'holds a character that a header cannot carry (a line break, NUL, or beyond Latin-1)';
      findings.push({ severity: 'error', path, message, hint: 'remove it, or encode the value' });
    }
    const key = name.toLowerCase();
    if (headers.has(key)) {
      const message = 'stands twice in different case; the last one counts';
      findings.push({ severity: 'warning', path, message, hint: 'remove one' });
    }
    headers.set(key, [name, value]);
  }
  return [...headers].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, header]) => header);
}

/** HTTP carries bytes: no line breaks, no NUL, nothing beyond Latin-1. */
function isHeaderValue(value: string): boolean {
  for (const character of value) {
    if ('\0\r\n'.includes(character) || character > '\u00ff') return false;
  }
  return true;
}
