/**
 * The tools of one turn, frozen: whatever servers do meanwhile, the model meets the tools that it was told of. Only what it
 * finds itself comes in, at the end.
 */
import type { ToolIndex } from './search/tool-index.js';
import { toolSearch } from './search/tool-search.js';
import type { Tool } from './tool.js';

export interface LeaseInit {
  /** In the order of the prompt; without the search tool. */
  loaded: readonly Tool[];
  found: readonly Tool[];
  deferred: readonly Tool[];
  /** Given when tools are held back. */
  search?: { index: ToolIndex; onFound: (tool: Tool) => void } | undefined;
  onRelease: () => void;
}

/**
 * The tools of one step, held still: what the model was offered is what it calls, whatever changes meanwhile. Release
 * it after the step.
 */
export class ToolLease {
  readonly #known: Map<string, Tool>;
  readonly #deferred: Map<string, Tool>;
  readonly #init: LeaseInit;
  #tools: readonly Tool[];
  #released = false;

  constructor(init: LeaseInit) {
    const { loaded, found, deferred, search } = init;
    this.#init = init;
    this.#deferred = byName(deferred);
    const searched = byName([...loaded, ...found, ...deferred]);
    if (search === undefined) {
      this.#known = searched;
      this.#tools = [...loaded, ...found];
      return;
    }
    const finder = toolSearch({ index: search.index, tools: searched, load: (tools) => this.#load(tools) });
    // Not among what is searched: it would find itself.
    this.#known = new Map([...searched, [finder.name, finder]]);
    this.#tools = withSearch(loaded, finder, found);
  }

  /** What the next prompt of this turn carries. A new array whenever the model found something. */
  get tools(): readonly Tool[] {
    return this.#tools;
  }

  /** Known by name only, at this moment of the turn. */
  get deferred(): readonly Tool[] {
    return [...this.#deferred.values()];
  }

  /**
   * The tool that the model means. One that is held back is loaded by being called: its schema stands in the next prompt.
   * A tool whose server has dropped it meanwhile is still found here; its call ends with the runtime's own error.
   */
  get(name: string): Tool | undefined {
    const tool = this.#known.get(name);
    if (tool !== undefined) this.#load([tool]);
    return tool;
  }

  /** Ends the turn: nothing is found here any more. Idempotent. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#known.clear();
    this.#deferred.clear();
    this.#tools = [];
    this.#init.onRelease();
  }

  #load(tools: readonly Tool[]): readonly Tool[] {
    const fresh = tools.filter(({ name }) => this.#deferred.delete(name));
    if (fresh.length === 0) return fresh;
    this.#tools = [...this.#tools, ...fresh];
    for (const tool of fresh) this.#init.search?.onFound(tool);
    return fresh;
  }
}

/** Local tools, the search tool, tools of servers that are always loaded, what was found. */
export function withSearch(loaded: readonly Tool[], finder: Tool, found: readonly Tool[]): readonly Tool[] {
  const local = loaded.filter(({ identity }) => identity.kind === 'local');
  const foreign = loaded.filter(({ identity }) => identity.kind !== 'local');
  return [...local, finder, ...foreign, ...found];
}

function byName(tools: readonly Tool[]): Map<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}
