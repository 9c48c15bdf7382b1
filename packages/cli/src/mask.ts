/**
 * What a server runs or reaches, for a list that others may see over a shoulder: credentials that stand in arguments or
 * in a URL are masked. References such as `${TOKEN}` show nothing and stay. Pure.
 */
import { printable, type WrittenLaunch } from '@bulkhead/runtime';

const MASK = '***';
const SECRET_NAME = /token|key|secret|passw|pwd|auth|credential|cookie|signature|^sig$|^pat$/i;
/** How the credentials of well-known services begin. */
const SECRET_START =
  /^(?:sk|pk|rk|ghp|gho|ghu|ghs|github_pat|glpat|xox[abeprs]|hf|npm|ntn|secret|shpat|lin_api|pat)[-_]|^(?:AKIA|AIza|ya29\.|eyJ)/;
const MIN_SECRET_CHARS = 16;
const REFERENCE = /\$\{[^}]*\}/g;

/** The command line or URL on one line. */
export function maskedLaunch({ type, command = '', args = [], url = '' }: WrittenLaunch): string {
  if (type !== 'stdio') return printable(maskedUrl(url));
  return printable([command, ...maskedArgs(args)].map(quoted).join(' '));
}

/** The same for an entry that is not in a config yet. */
export function maskedEntry(entry: ReadonlyMap<string, unknown>): string {
  const text = (key: string) => {
    const value = entry.get(key);
    return typeof value === 'string' ? value : '';
  };
  const args = entry.get('args');
  const isRemote = text('command') === '';
  return maskedLaunch({
    type: isRemote ? 'http' : 'stdio',
    command: text('command'),
    args: Array.isArray(args) ? args.map(String) : [],
    url: text('url'),
  });
}

export function maskedArgs(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const flag = args[index - 1];
    if (flag !== undefined && /^--?[\w-]+$/.test(flag) && SECRET_NAME.test(flag) && !arg.startsWith('-')) {
      return masked(arg);
    }
    const pair = /^((?:--?)?[\w.-]+)(=|:\s*)(.+)$/s.exec(arg);
    if (pair?.[1] !== undefined && SECRET_NAME.test(pair[1]))
      return `${pair[1]}${pair[2]}${masked(pair[3] ?? '')}`;
    if (/^[\w+.-]+:\/\//.test(arg)) return maskedUrl(arg);
    return looksSecret(arg) ? masked(arg) : arg;
  });
}

/** Parts of the text, not of a parsed URL: it may hold references. */
export function maskedUrl(url: string): string {
  const [whole = '', query] = split(url, '?');
  const place = whole
    .replace(
      /^([\w+.-]+:\/\/[^/@:]*:)([^/@]+)@/,
      (_, before: string, password: string) => `${before}${masked(password)}@`,
    )
    .split('/')
    // The scheme and the host are no secrets.
    .map((part, index) => (index > 2 && (looksSecret(part) || looksRandom(part)) ? masked(part) : part))
    .join('/');
  if (query === undefined) return place;
  const pairs = query.split('&').map((pair) => {
    const [name = '', value] = split(pair, '=');
    if (value === undefined) return pair;
    return SECRET_NAME.test(name) || looksSecret(value) || looksRandom(value)
      ? `${name}=${masked(value)}`
      : pair;
  });
  return `${place}?${pairs.join('&')}`;
}

/** True for a name of a variable or header whose value should not stand in clear text. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

function masked(text: string): string {
  // A value that is nothing but references, and words such as "Bearer" before them, is no secret.
  const rest = text.replace(REFERENCE, '').replace(/^\s*(?:Bearer|Basic|token)\s*/i, '');
  return rest === '' ? text : MASK;
}

function looksSecret(text: string): boolean {
  return text.length >= MIN_SECRET_CHARS && SECRET_START.test(text);
}

function looksRandom(text: string): boolean {
  return /^[A-Za-z0-9_-]{24,}$/.test(text) && /\d/.test(text) && /[A-Za-z]/.test(text);
}

function split(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index === -1 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}

function quoted(part: string): string {
  return /^[^\s"'\\]+$/.test(part) ? part : JSON.stringify(part);
}
