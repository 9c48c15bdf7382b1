/**
 * Where a `$ref` leads inside one schema document: JSON pointers of any kind, anchors, and embedded `$id`s. Nothing is
 * ever fetched: what is not in the document is not found.
 */
import { isRecord } from '../../content.js';

/** Places looked at while ids and anchors are collected; beyond it they are not known. */
const MAX_PLACES = 20_000;

export class SchemaRefs {
  readonly #root: Readonly<Record<string, unknown>>;
  readonly #base: string | undefined;
  #documents: Map<string, object> | undefined;
  readonly #anchors = new Map<string, object>();

  constructor(root: Readonly<Record<string, unknown>>) {
    this.#root = root;
    this.#base = idOf(root);
  }

  /** The schema that a reference names, or undefined: remote, or leading nowhere. */
  find(ref: string): unknown {
    const hash = ref.indexOf('#');
    const address = hash === -1 ? ref : ref.slice(0, hash);
    const fragment = hash === -1 ? '' : ref.slice(hash + 1);
    const document = this.#document(address);
    if (document === undefined) return undefined;
    if (fragment === '') return document;
    if (fragment.startsWith('/')) return follow(document, fragment);
    this.#collect();
    return this.#anchors.get(fragment);
  }

  /** Whether a reference names another document than this one. */
  isRemote(ref: string): boolean {
    return this.#document(ref.split('#', 1)[0] ?? '') === undefined;
  }

  #document(address: string): object | undefined {
    if (address === '') return this.#root;
    const absolute = resolved(address, this.#base);
    if (this.#base !== undefined && absolute === resolved(this.#base, undefined)) return this.#root;
    return this.#collect().get(absolute);
  }

  /** Embedded ids and anchors, without recursion: the document is remote input. */
  #collect(): Map<string, object> {
    if (this.#documents !== undefined) return this.#documents;
    this.#documents = new Map();
    const open: unknown[] = [this.#root];
    const seen = new Set<unknown>();
    while (open.length > 0 && seen.size < MAX_PLACES) {
      const place = open.pop();
      if (typeof place !== 'object' || place === null || seen.has(place)) continue;
      seen.add(place);
      open.push(...Object.values(place));
      if (!isRecord(place)) continue;
      const id = idOf(place);
      if (id?.startsWith('#')) this.#anchors.set(id.slice(1), place);
      else if (id !== undefined) this.#documents.set(resolved(id, this.#base), place);
      for (const key of ['$anchor', '$dynamicAnchor']) {
        if (typeof place[key] === 'string') this.#anchors.set(place[key], place);
      }
    }
    return this.#documents;
  }
}

/** `$id`, or `id` as draft 4 has it. */
function idOf(schema: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof schema.$id === 'string') return schema.$id;
  // A property that is called "id" is an object, or stands below `properties`.
  return typeof schema.id === 'string' && typeof schema.$schema === 'string' ? schema.id : undefined;
}

function resolved(address: string, base: string | undefined): string {
  const url = URL.parse?.(address, base) ?? tryUrl(address, base);
  return (url?.href ?? address).replace(/#$/, '');
}

function tryUrl(address: string, base: string | undefined): URL | undefined {
  try {
    return new URL(address, base);
  } catch {
    return undefined;
  }
}

/** RFC 6901, percent-decoded as fragments are. */
function follow(document: object, pointer: string): unknown {
  let at: unknown = document;
  for (const token of pointer.slice(1).split('/')) {
    const name = decoded(token).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
