/**
 * Which tools of a set a prompt carries whole and which are known by name only. What was found stays, at the end and in
 * the order in which it was found, so a provider's cache of everything before it holds.
 */
import { estimateTokens } from '../tokens.js';
import type { Tool } from '../tool.js';
import { passes, type ToolRule } from '../tool-filter.js';

/** When the schemas of MCP tools are held back behind a search. */
export interface SearchOptions {
  /**
   * `auto` (default) holds tools back once their definitions are estimated at more than the budget, and from then on;
   * `always` from the start.
   */
  mode?: 'auto' | 'always';
  /** The model's context in tokens. Default 200 000. */
  contextTokens?: number;
  /** Share of the context that definitions of MCP tools may take in mode `auto`, 0 … 1. Default 0.1. */
  share?: number;
  /** Tools of servers that are never held back. Local tools never are. */
  alwaysLoad?: readonly ToolRule[];
}

export interface Split {
  /** With their schemas: what is never held back, in the order of the set. */
  readonly loaded: readonly Tool[];
  /** With their schemas, behind the others: what was found, in the order of finding. */
  readonly found: readonly Tool[];
  /** By name only. */
  readonly deferred: readonly Tool[];
}

export class Deferral {
  readonly #budget: number;
  readonly #alwaysLoad: readonly ToolRule[];
  readonly #found = new Set<string>();
  #on: boolean;

  constructor({ mode = 'auto', contextTokens = 200_000, share = 0.1, alwaysLoad = [] }: SearchOptions) {
    if (!(contextTokens > 0)) throw range('contextTokens', 'a number above 0', contextTokens);
    if (!(share >= 0 && share <= 1)) throw range('share', 'from 0 to 1', share);
    this.#on = mode === 'always';
    this.#budget = contextTokens * share;
    this.#alwaysLoad = alwaysLoad;
  }

  /** Undefined while everything fits the budget. Once it did not, it stays on: switching back would break the prefix. */
  split(tools: readonly Tool[]): Split | undefined {
    const loaded: Tool[] = [];
    const others = new Map<string, Tool>();
    for (const tool of tools) {
      if (this.#isAlwaysLoaded(tool)) loaded.push(tool);
      else others.set(tool.name, tool);
    }
    this.#on ||= exceeds(others.values(), this.#budget);
    if (!this.#on) return undefined;
    const found = [...this.#found].flatMap((name) => others.get(name) ?? []);
    for (const { name } of found) others.delete(name);
    return { loaded, found, deferred: [...others.values()] };
  }

  /** A name that goes and comes back keeps its place. */
  found(name: string): void {
    this.#found.add(name);
  }

  #isAlwaysLoaded(tool: Tool): boolean {
    if (tool.identity.kind === 'local') return true;
    return this.#alwaysLoad.length > 0 && passes({ allow: this.#alwaysLoad }, tool);
  }
}

const costs = new WeakMap<Tool, number>();

/** Estimated tokens of a tool's definition in a request. */
export function definitionTokens(tool: Tool): number {
  let cost = costs.get(tool);
  if (cost === undefined) {
    const { name, description, inputSchema } = tool;
    cost = estimateTokens(JSON.stringify({ name, description, inputSchema }));
    costs.set(tool, cost);
  }
  return cost;
}

function exceeds(tools: Iterable<Tool>, budget: number): boolean {
  let sum = 0;
  for (const tool of tools) {
    sum += definitionTokens(tool);
    if (sum > budget) return true;
  }
  return false;
}

function range(field: string, expected: string, got: unknown): RangeError {
  return new RangeError(`Expected \`search.${field}\` to be ${expected}, got ${String(got)}`);
}
