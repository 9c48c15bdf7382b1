/**
 * The tools of one agent: its own and those of MCP servers behind one shape, in one order. Servers may change their lists at
 * any time; a toolset takes that over only when it is told to, between two prompts, and a turn holds a lease on what it saw.
 */
import { BulkheadError } from '@bulkhead/workers';
import { ToolLease, withSearch } from './lease.js';
import type { McpToolOptions, ToolsetRuntime } from './mcp-tools.js';
import { Deferral, type SearchOptions, type Split } from './search/deferral.js';
import { ToolIndex } from './search/tool-index.js';
import { toolSearch } from './search/tool-search.js';
import type { Tool } from './tool.js';
import { passes, type ToolFilter } from './tool-filter.js';
import { checkLocal, sourceOf, type ToolSource } from './tool-source.js';

/** What a toolset is made of. */
export interface ToolsetOptions extends McpToolOptions {
  /** Whose servers' tools are in the set; an attached runtime will do. Default: none. */
  runtime?: ToolsetRuntime;
  /** Tools of the host, see `defineTool`; they come first, in this order. */
  localTools?: readonly Tool[];
  /** What is active at the start, as with `setActive`. Default: everything. */
  filter?: ToolFilter;
  /** Holds the schemas of MCP tools back behind a `tool_search` tool. Default: none is held back. */
  search?: SearchOptions;
}

/** How a child of a toolset differs from it. */
export interface ForkOptions {
  /** What of the parent's active tools the child has. Default: all. */
  filter?: ToolFilter;
  /** Default: the parent's. What the parent found is not found in the child. */
  search?: SearchOptions;
}

/** Names of tools, each list in the order of the set. */
export interface ToolsetChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Same name, other description, schema or capabilities. */
  readonly changed: readonly string[];
}

/**
 * A toolset over a runtime's servers and the host's own tools. It reads the catalog as it stands; call `refreshIfDirty()`
 * before each prompt to take later changes.
 * @throws {BulkheadError} `BAD_CONFIG` when a local tool has a name that another tool has or could get.
 * @throws {RangeError} A field of `search` is out of range.
 */
export function createToolset(options: ToolsetOptions): Toolset {
  const { runtime, localTools = [], search } = options;
  checkLocal(localTools, runtime, search !== undefined);
  const toolset = new Toolset(sourceOf(options, runtime, [...localTools]), search);
  if (options.filter !== undefined) toolset.setActive(options.filter);
  return toolset;
}

/** All tools of an agent, and which of them are active. Made by `createToolset()`; follows what servers list. */
export class Toolset {
  readonly #source: ToolSource;
  readonly #search: SearchOptions | undefined;
  readonly #deferral: Deferral | undefined;
  readonly #index = new ToolIndex();
  readonly #finder: Tool;
  #isWanted: (tool: Tool) => boolean = () => true;
  #version: string;
  #all: readonly Tool[];
  #selected: readonly Tool[] = [];
  #split: Split | undefined;
  #active: readonly Tool[] = [];
  #revision = 0;
  #leases = 0;

  /** Use {@link createToolset} or {@link Toolset.fork}. */
  constructor(source: ToolSource, search: SearchOptions | undefined) {
    this.#source = source;
    this.#search = search;
    this.#deferral = search && new Deferral(search);
    this.#finder = toolSearch(this.#searched());
    this.#version = source.version();
    this.#all = source.read();
    this.#select();
  }

  /** Every tool of the set as last refreshed: local ones in their order, then MCP ones by server and raw name. */
  get allTools(): readonly Tool[] {
    return this.#all;
  }

  /**
   * What a prompt carries, with schemas: the chosen ones of `allTools` in its order. With tool search: local tools,
   * `tool_search`, tools that are always loaded, then what was found, in the order of finding.
   */
  get activeTools(): readonly Tool[] {
    return this.#active;
  }

  /** Chosen, but held back: a model knows their names only (see `catalogText`) until it finds them. */
  get deferredTools(): readonly Tool[] {
    return this.#split?.deferred ?? [];
  }

  /** Calls of its MCP tools pass a gate of their runtime (`createRuntime({gate})`); nobody else needs to ask. */
  get gated(): boolean {
    return this.#source.gated;
  }

  /** Counts up with every change of what is chosen. */
  get revision(): number {
    return this.#revision;
  }

  /** Turns that hold a lease at this moment. */
  get leases(): number {
    return this.#leases;
  }

  /**
   * Chooses the active tools. It is the choice that lasts over refreshes, not its outcome:
   * - `'all'`: active stays equal to all;
   * - a filter: applied to every later list, so new tools that pass come in; one that lets no MCP tool pass never will;
   * - names: these and no others; one that vanishes goes, and is active again when it comes back.
   * @throws {BulkheadError} `UNKNOWN_TOOL` for a name that `allTools` does not have; nothing changes then.
   */
  setActive(choice: 'all' | readonly string[] | ToolFilter): void {
    if (choice === 'all') {
      this.#isWanted = () => true;
    } else if (isNames(choice)) {
      const names = new Set(choice);
      const known = new Set(this.#all.map(({ name }) => name));
      const unknown = [...names].filter((name) => !known.has(name));
      if (unknown.length > 0) {
        throw new BulkheadError(
          'UNKNOWN_TOOL',
          `the toolset has no tool ${unknown.map((name) => `"${name}"`).join(', ')}; ` +
            'look the names up in allTools, after refreshIfDirty() when a server has just become ready',
        );
      }
      this.#isWanted = ({ name }) => names.has(name);
    } else {
      this.#isWanted = (tool) => passes(choice, tool);
    }
    this.#select();
  }

  /**
   * Takes what changed since the last time. Runs to its end in one go, so callers at the same time see one change: the
   * first is told of it, the others get undefined. A fork takes what its parent has active at this moment.
   */
  refreshIfDirty(): ToolsetChange | undefined {
    const version = this.#source.version();
    if (version === this.#version) return undefined;
    const before = this.#selected;
    this.#all = this.#source.read();
    this.#version = version;
    this.#select();
    const change = difference(before, this.#selected);
    return change.added.length + change.removed.length + change.changed.length === 0 ? undefined : change;
  }

  /**
   * A set of its own for a sub-agent, over the same sessions. It never has more than this set has active; what changes
   * here reaches it at its own `refreshIfDirty()`.
   */
  fork({ filter = {}, search = this.#search }: ForkOptions = {}): Toolset {
    return new Toolset(
      {
        version: () => String(this.#revision),
        read: () => this.#selected.filter((tool) => passes(filter, tool)),
        gated: this.gated,
      },
      search,
    );
  }

  /** The active tools, frozen for one turn. Give it back with `release()`. */
  lease(): ToolLease {
    this.#leases++;
    const { loaded, found, deferred } = this.#split ?? { loaded: this.#selected, found: [], deferred: [] };
    return new ToolLease({
      loaded,
      found,
      deferred,
      search: this.#split && { index: this.#index, onFound: (tool) => this.#found([tool]) },
      onRelease: () => {
        this.#leases--;
      },
    });
  }

  // ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #select(): void {
    const selected = this.#all.filter((tool) => this.#isWanted(tool));
    if (!same(selected, this.#selected)) {
      this.#selected = Object.freeze(selected);
      this.#revision++;
    }
    this.#arrange();
  }

  /** Equal content keeps the same array, for those who cache what they make of it. */
  #arrange(): void {
    this.#split = this.#deferral?.split(this.#selected);
    const active =
      this.#split === undefined
        ? this.#selected
        : withSearch(this.#split.loaded, this.#finder, this.#split.found);
    if (!same(active, this.#active)) this.#active = Object.freeze(active);
  }

  #found(tools: readonly Tool[]): void {
    for (const { name } of tools) this.#deferral?.found(name);
    this.#arrange();
  }

  #searched() {
    const selected = () => this.#selected;
    return {
      index: this.#index,
      get tools() {
        return new Map(selected().map((tool) => [tool.name, tool]));
      },
      load: (tools: readonly Tool[]) => {
        const deferred = new Set(this.deferredTools);
        const fresh = tools.filter((tool) => deferred.has(tool));
        this.#found(fresh);
        return fresh;
      },
    };
  }
}

function difference(before: readonly Tool[], after: readonly Tool[]): ToolsetChange {
  const old = new Map(before.map((tool) => [tool.name, tool]));
  const now = new Map(after.map((tool) => [tool.name, tool]));
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: [...now].filter(([name, tool]) => old.has(name) && old.get(name) !== tool).map(([name]) => name),
  };
}

function same(a: readonly Tool[], b: readonly Tool[]): boolean {
  return a.length === b.length && a.every((tool, index) => tool === b[index]);
}

function isNames(choice: readonly string[] | ToolFilter): choice is readonly string[] {
  return Array.isArray(choice);
}
