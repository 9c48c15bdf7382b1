/**
 * The values of a configuration that nobody may read elsewhere: what stands in `env`, headers and `auth`, passwords and
 * queries of URLs, and what variables put into arguments. Logs and audits write texts that went through `mask()`; they
 * are never given a value of an entry itself.
 */
import type { Launch } from '@bulkhead/workers';
import { isAllowed } from './config/environment.js';
import type { LoadedConfig, WrittenLaunch } from './config/types.js';

/** A shorter one would be found in every second word. */
const LEAST_CHARS = 6;
const SECRET_NAME = /token|key|secret|passw|pwd|auth|credential|cookie|signature/i;
const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)/g;
const REDACTED = '[redacted]';

export class Secrets {
  readonly #values = new Set<string>();
  #pattern: RegExp | undefined;

  /** Values of an earlier configuration stay secret. */
  learn({ servers }: Pick<LoadedConfig, 'servers'>): void {
    const before = this.#values.size;
    for (const { spec } of servers) for (const value of spec.secrets ?? []) this.#values.add(value);
    if (this.#values.size === before) return;
    // The longest first: one may be the beginning of another.
    const longest = [...this.#values].sort((a, b) => b.length - a.length);
    this.#pattern = new RegExp(longest.map(escaped).join('|'), 'g');
  }

  /** The text with every known value replaced. */
  readonly mask = (text: string): string => {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, REDACTED);
  };
}

/**
 * The values of one entry that nobody may read elsewhere, each in the forms in which it may turn up. The entry as it is
 * written tells what variables put into it.
 */
export function secretsOf(launch: Launch, written: WrittenLaunch): string[] {
  return [...new Set(valuesOf(launch, written).flatMap(formsOf))];
}

function formsOf(value: string): string[] {
  // A key of many lines may turn up in one of them.
  const lines = value.split(/\s*\n\s*/).filter((line) => line.length > 2 * LEAST_CHARS);
  const forms = [encodeURIComponent(value.toWellFormed()), JSON.stringify(value).slice(1, -1)];
  return [value, ...forms, ...lines].filter((form) => form.trim().length >= LEAST_CHARS);
}

function valuesOf(launch: Launch, written: WrittenLaunch): string[] {
  if (launch.type === 'stdio')
    return [...fromEnvironment(launch, new Set(written.env)), ...fromArguments(launch, written.args ?? [])];
  const { url, headers, auth } = launch;
  return [
    ...partsOfUrl(url, written.url ?? url),
    ...headers.flatMap(([, value]) => wordsOf(value)),
    ...textsOf(auth),
  ];
}

/** Paths stay: they say where something went wrong and open nothing. */
function fromEnvironment({ env }: Extract<Launch, { type: 'stdio' }>, own: ReadonlySet<string>): string[] {
  return env.flatMap(([name, value]) => {
    const counts = SECRET_NAME.test(name) || (own.has(name) && !isAllowed(name, process.platform));
    return counts && !/^(?:[A-Za-z]:)?[\\/]/.test(value) ? [value, ...partsOfUrl(value, value)] : [];
  });
}

function fromArguments({ args }: Extract<Launch, { type: 'stdio' }>, written: readonly string[]): string[] {
  return args.flatMap((arg, index) => partsOfUrl(arg, written[index] ?? arg));
}

/** What variables put between the texts that stand in the file; a name that every server gets anyway is no secret. */
function substituted(text: string, written: string): string[] {
  const names = [...written.matchAll(REFERENCE)].map(([, name = '']) => name);
  if (text === written || names.every((name) => isAllowed(name, process.platform))) return [];
  const before = written.indexOf('${');
  const after = written.length - written.lastIndexOf('}') - 1;
  return [text.slice(before, text.length - after)];
}

/** Credentials and the values of the query, besides what variables put into it. Any other text has only the latter. */
function partsOfUrl(text: string, written: string): string[] {
  if (!/^[\w+.-]+:\/\//.test(text) || !URL.canParse(text)) return substituted(text, written);
  const { username, password, searchParams } = new URL(text);
  const user = password === '' ? [username] : [];
  const credentials = [...user, password].flatMap((part) => [part, decoded(part)]);
  return [...credentials, ...searchParams.values(), ...substituted(text, written)];
}

/** "Bearer abc" is a secret, and so is "abc". */
function wordsOf(value: string): string[] {
  return [value, ...value.split(/[\s;,]+/).filter((word) => word.length > LEAST_CHARS + 2)];
}

function textsOf(auth: object | undefined): string[] {
  return Object.entries(auth ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' && SECRET_NAME.test(name) ? [value] : [],
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
