/**
 * What a tool may do to the world, as far as its own words tell: its annotations first, then the words of its name and
 * of the first sentence of its description. Whoever writes the tool writes these words, so without the user's trust they
 * can make it look more dangerous and never less. Pure.
 */
import {
  alsoThings,
  destructiveWords,
  executingWords,
  networkWords,
  readingWords,
  writingWords,
} from './capability-words.js';
import type { Capability } from './tool.js';

/** What a tool says of itself, as far as capabilities are read from it. */
export interface ToolTraits {
  readonly name: string;
  readonly description?: string | undefined;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
}

/** How far into a description its verb is looked for, in words. */
const LEADING_WORDS = 8;
/** Descriptions can be megabytes; what a tool does is said at the start. */
const LOOKED_AT_CHARS = 1_000;

/**
 * The capabilities of a tool, at least one.
 *
 * `unknown` beside `read` means that the tool only says of itself that it reads: from a server without the user's trust
 * that is no more than a claim. Only a set of `read` alone is certain to read.
 * @param options `trusted`: the user trusts the server (`trust: true` of its entry), so its words may lower the class.
 */
export function inferCapabilities(
  { name, description = '', annotations = {} }: ToolTraits,
  { trusted }: { trusted: boolean },
): ReadonlySet<Capability> {
  const told = firstSentence(description);
  const found = effectsOfWords(name, told);
  const touchesNetwork = [...wordsOf(name), ...wordsOf(told).map(base)].some((word) =>
    networkWords.has(word),
  );
  if (touchesNetwork || annotations.openWorldHint === true) found.add('network');
  if (trusted) believe(annotations, found);
  else raise(annotations, found);

  if (found.has('destructive')) found.add('write');
  // "get_or_create": that it reads as well is of no account.
  if (found.has('write')) found.delete('read');
  const changes = found.has('write');
  if (!changes && (!trusted || !found.has('read'))) found.add('unknown');
  return found;
}

/** True when the tool certainly does nothing but read: by the host's own word, or that of a trusted server. */
export function onlyReads(capabilities: ReadonlySet<Capability>): boolean {
  return capabilities.size === 1 && capabilities.has('read');
}

/** What an untrusted server admits about its tool counts; what it denies does not. */
function raise(annotations: NonNullable<ToolTraits['annotations']>, found: Set<Capability>): void {
  const { readOnlyHint, destructiveHint } = annotations;
  if (readOnlyHint === true) found.add('read');
  if (readOnlyHint === false) found.add('write');
  if (destructiveHint === true && readOnlyHint !== true) found.add('destructive');
}

/** The hints of a trusted server decide, one by one; words stand where it gives none. */
function believe(annotations: NonNullable<ToolTraits['annotations']>, found: Set<Capability>): void {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  if (openWorldHint === false) found.delete('network');
  if (readOnlyHint === true) {
    for (const effect of ['write', 'destructive'] as const) found.delete(effect);
    found.add('read');
  } else if (readOnlyHint === false) {
    found.add('write');
    if (destructiveHint === false) found.delete('destructive');
  }
  // Without `readOnlyHint` too: whoever says "destructive" means it.
  if (destructiveHint === true && readOnlyHint !== true) found.add('destructive');
}

function effectsOfWords(name: string, told: string): Set<Capability> {
  const found = new Set<Capability>();
  const named = deedsOfName(name);
  const sentence = wordsOf(told).slice(0, LEADING_WORDS).map(base);
  const index = sentence.findIndex(
    (word, at) => deedOf(word) !== undefined && (at === 0 || !alsoThings.has(word)),
  );
  const said = deedOf(sentence[index] ?? '');
  // "Run a read-only SQL query": the sentence itself takes the edge off its verb.
  const harmless = said === 'execute' && /\bread[- ]?only\b|\bselect (query|statement)/i.test(told);
  for (const deed of named) addTo(found, deed);
  if (harmless) addTo(found, 'read');
  else if (said !== undefined && (named.length === 0 || (index === 0 && said !== 'read'))) addTo(found, said);
  return found;
}

type Deed = Capability | 'execute';

function addTo(found: Set<Capability>, deed: Deed): void {
  if (deed === 'execute') for (const one of ['write', 'destructive', 'network'] as const) found.add(one);
  else found.add(deed);
}

function deedsOfName(name: string): Deed[] {
  const named = wordsOf(name);
  const clear = named.filter((word) => deedOf(word) !== undefined && !alsoThings.has(word));
  return (clear.length > 0 ? clear : named).flatMap((word) => deedOf(word) ?? []);
}

function deedOf(word: string): Deed | undefined {
  if (destructiveWords.has(word)) return 'destructive';
  if (executingWords.has(word)) return 'execute';
  if (writingWords.has(word)) return 'write';
  if (readingWords.has(word)) return 'read';
  return undefined;
}

/** Lower-case words of `snake_case`, `camelCase`, `kebab-case`, `a.b`, `a/b` and of plain text. */
function wordsOf(text: string): string[] {
  return text
    .slice(0, LOOKED_AT_CHARS)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** A verb of a sentence as it stands in the lists: "deletes", "fetches", "copies". */
function base(word: string): string {
  const forms = [word, word.replace(/s$/, ''), word.replace(/es$/, ''), word.replace(/ies$/, 'y')];
  return forms.find((form) => deedOf(form) !== undefined || networkWords.has(form)) ?? word;
}

function firstSentence(text: string): string {
  return (
    text
      .slice(0, LOOKED_AT_CHARS)
      .trim()
      .split(/(?<=[.!?])\s|\n/)[0] ?? ''
  );
}
