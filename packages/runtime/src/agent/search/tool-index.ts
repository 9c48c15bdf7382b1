/**
 * A BM25 index over tools: names, servers, descriptions, parameters. Built when something is first looked for and kept up
 * with later lists by what differs: a tool that is the same object is not read again.
 */
import MiniSearch from 'minisearch';
import type { JsonSchema, Tool } from '../tool.js';
import { kindred, words } from './words.js';

interface Entry {
  id: string;
  name: string;
  server: string;
  description: string;
  parameters: string;
  details: string;
}

/** A hit in a name says more than one in a parameter's description. Chosen with the queries of the test corpus. */
const boost = { name: 3, server: 2, description: 1.2, parameters: 0.6, details: 0.3 };
/** A word of the same group counts for so much of the word itself. */
const KINDRED_WEIGHT = 0.25;
/** Tools read before the loop gets a turn again: a few milliseconds. */
const READ_AT_ONCE = 8;
/** Shorter words are not completed, and in words that are no longer than that another letter is another word. */
const MIN_PREFIX = 4;
const MIN_FUZZY = 6;
const FUZZINESS = 0.2;
/** Schemas are foreign and may be huge or endless: what lies deeper or behind is not searched for. */
const MAX_DEPTH = 6;
const MAX_PARAMETERS = 200;
const MAX_DESCRIPTION_CHARS = 4_000;

/** What is read of a tool. */
export type Searched = Pick<Tool, 'name' | 'identity' | 'description' | 'inputSchema'>;

export class ToolIndex<T extends Searched = Tool> {
  readonly #vocabulary = new Set<string>();
  readonly #search = new MiniSearch<Entry>({
    fields: Object.keys(boost),
    tokenize: words,
    processTerm: (term) => {
      this.#vocabulary.add(term);
      return term;
    },
  });
  #indexed = new Map<string, T>();
  #turn: Promise<unknown> = Promise.resolve();
  #readTools = 0;

  /** How many tools were read so far, over all lists. */
  get readTools(): number {
    return this.#readTools;
  }

  /**
   * The best of `tools` first, at most `limit`; equal scores by name, so that equal questions have equal answers. Costs
   * what differs from the list of the question before. Questions are answered one after the other.
   */
  find(tools: readonly T[], query: string, limit: number): Promise<T[]> {
    const turn = this.#turn.then(async () => {
      await this.#update(tools);
      return this.#ask(query, limit);
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #update(tools: readonly T[]): Promise<void> {
    const next = new Map(tools.map((tool) => [tool.name, tool]));
    for (const [name, tool] of this.#indexed) {
      if (next.get(name) === tool) continue;
      this.#search.discard(name);
      this.#indexed.delete(name);
    }
    const fresh = tools.filter((tool) => !this.#indexed.has(tool.name));
    await this.#search.addAllAsync(fresh.map(entryOf), { chunkSize: READ_AT_ONCE });
    this.#indexed = next;
    this.#readTools += fresh.length;
  }

  #ask(query: string, limit: number): T[] {
    const asked = [...new Set(words(query))];
    const wider = kindred(asked);
    // Only what no tool says is completed or taken for a slip; otherwise "general" would also ask for "generate".
    const isForeign = (term: string) => !this.#vocabulary.has(term);
    const hits = this.#search.search([...asked, ...wider].join(' '), {
      boost,
      combineWith: 'OR',
      tokenize: (text) => text.split(' '),
      processTerm: (term) => term,
      prefix: (term) => term.length >= MIN_PREFIX && isForeign(term),
      fuzzy: (term) => term.length >= MIN_FUZZY && isForeign(term) && FUZZINESS,
      boostTerm: (term) => (wider.includes(term) ? KINDRED_WEIGHT : 1),
    });
    return hits
      .map(({ id, score, queryTerms }) => ({ id: String(id), score: score * covered(asked, queryTerms) }))
      .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .flatMap(({ id }) => this.#indexed.get(id) ?? []);
  }
}

/** Share of the question that a tool answers to, itself or by a kindred word: one rare word alone is not the best match. */
function covered(asked: readonly string[], matched: readonly string[]): number {
  const has = (word: string) =>
    matched.includes(word) || kindred([word]).some((kin) => matched.includes(kin));
  return asked.length === 0 ? 1 : asked.filter(has).length / asked.length;
}

function entryOf({ name, identity, description, inputSchema }: Searched): Entry {
  const parameters: string[] = [];
  const details: string[] = [];
  describe(inputSchema, 0, parameters, details);
  return {
    id: name,
    name: identity.tool,
    server: identity.kind === 'mcp' ? identity.server : '',
    description: description.slice(0, MAX_DESCRIPTION_CHARS),
    parameters: parameters.join(' '),
    details: details.join(' '),
  };
}

function describe(schema: unknown, depth: number, parameters: string[], details: string[]): void {
  if (!isRecord(schema) || depth > MAX_DEPTH) return;
  const { properties, items } = schema as JsonSchema;
  if (isRecord(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (parameters.length >= MAX_PARAMETERS) return;
      parameters.push(name);
      if (isRecord(property) && typeof property.description === 'string') {
        details.push(property.description.slice(0, MAX_DESCRIPTION_CHARS));
      }
      describe(property, depth + 1, parameters, details);
    }
  }
  describe(items, depth + 1, parameters, details);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
