/**
 * The merged catalog: every server's tools under their full names, in a stable order. Rebuilt whole when one server's
 * list changes; names are looked up, never parsed.
 */
import { createHash } from 'node:crypto';
import type { ServerCatalog } from '@bulkhead/workers';
import type { CatalogDiff, CatalogRevision, CatalogTool } from './api.js';
import { assignNames } from './naming.js';

export class Catalog {
  readonly #byServer = new Map<string, ServerCatalog>();
  #revision = 0;
  #current: CatalogRevision | undefined;
  #tools: readonly CatalogTool[] = [];
  #byFullName = new Map<string, CatalogTool>();
  #byOrigin = new Map<string, Map<string, CatalogTool>>();

  /** What the new list of a server changes; an equal one changes nothing and is no revision. */
  set(server: string, catalog: ServerCatalog): CatalogDiff {
    const before = new Map(
      this.#byServer.get(server)?.tools.map((tool) => [tool.name, JSON.stringify(tool)]),
    );
    const diff: CatalogDiff = { added: [], removed: [], changed: [] };
    for (const tool of catalog.tools) {
      const known = before.get(tool.name);
      before.delete(tool.name);
      if (known === undefined) diff.added.push(tool.name);
      else if (known !== JSON.stringify(tool)) diff.changed.push(tool.name);
    }
    diff.removed.push(...before.keys());
    const first = !this.#byServer.has(server);
    this.#byServer.set(server, catalog);
    if (first || !isEmpty(diff)) this.#rebuild();
    return diff;
  }

  /** Whether the server had a list. */
  delete(server: string): boolean {
    const had = this.#byServer.delete(server);
    if (had) this.#rebuild();
    return had;
  }

  /** Sorted by server, then by raw tool name (code units): the same inputs give the same bytes. */
  /** The whole catalog as it stands; the object never changes. */
  get revision(): CatalogRevision {
    this.#current ??= {
      revision: this.#revision,
      hash: createHash('sha256').update(JSON.stringify(this.#tools)).digest('hex'),
      tools: this.#tools,
    };
    return this.#current;
  }

  get tools(): readonly CatalogTool[] {
    return this.#tools;
  }

  ofServer(server: string): readonly CatalogTool[] {
    return [...(this.#byOrigin.get(server)?.values() ?? [])];
  }

  byFullName(fullName: string): CatalogTool | undefined {
    return this.#byFullName.get(fullName);
  }

  byOrigin(server: string, tool: string): CatalogTool | undefined {
    return this.#byOrigin.get(server)?.get(tool);
  }

  of(server: string): ServerCatalog | undefined {
    return this.#byServer.get(server);
  }

  #rebuild(): void {
    this.#revision++;
    this.#current = undefined;
    const origins = [...this.#byServer]
      .sort(([a], [b]) => compare(a, b))
      .flatMap(([server, catalog]) =>
        [...catalog.tools].sort((a, b) => compare(a.name, b.name)).map((tool) => ({ server, tool })),
      );
    const names = assignNames(origins.map(({ server, tool }) => ({ server, tool: tool.name })));
    const fullNames = new Map<string, Map<string, string>>();
    for (const [fullName, { server, tool }] of names) {
      let ofServer = fullNames.get(server);
      if (ofServer === undefined) {
        ofServer = new Map();
        fullNames.set(server, ofServer);
      }
      ofServer.set(tool, fullName);
    }
    this.#byFullName = new Map();
    this.#byOrigin = new Map();
    const tools = origins.flatMap(({ server, tool }) => {
      const fullName = fullNames.get(server)?.get(tool.name);
      if (fullName === undefined) return [];
      const entry: CatalogTool = Object.freeze({ ...tool, fullName, server });
      this.#byFullName.set(fullName, entry);
      const ofServer = this.#byOrigin.get(server) ?? new Map<string, CatalogTool>();
      ofServer.set(tool.name, entry);
      this.#byOrigin.set(server, ofServer);
      return [entry];
    });
    this.#tools = Object.freeze(tools);
  }
}

export function isEmpty({ added, removed, changed }: CatalogDiff): boolean {
  return added.length + removed.length + changed.length === 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
