/**
 * The merged catalog: every server's tools under their full names, in a stable order. Rebuilt whole when one server's
 * list changes; names are looked up, never parsed.
 */
import type { ServerCatalog } from '@bulkhead/workers';
import type { CatalogTool } from './api.js';
import { assignNames } from './naming.js';

export class Catalog {
  readonly #byServer = new Map<string, ServerCatalog>();
  #tools: readonly CatalogTool[] = [];
  #byFullName = new Map<string, CatalogTool>();
  #byOrigin = new Map<string, Map<string, CatalogTool>>();

  set(server: string, catalog: ServerCatalog): void {
    this.#byServer.set(server, catalog);
    this.#rebuild();
  }

  /** Whether the server had a list. */
  delete(server: string): boolean {
    const had = this.#byServer.delete(server);
    if (had) this.#rebuild();
    return had;
  }

  /** Sorted by server, then by raw tool name (code units): the same inputs give the same bytes. */
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
    this.#tools = origins.flatMap(({ server, tool }) => {
      const fullName = fullNames.get(server)?.get(tool.name);
      if (fullName === undefined) return [];
      const entry: CatalogTool = Object.freeze({ ...tool, fullName, server });
      this.#byFullName.set(fullName, entry);
      const ofServer = this.#byOrigin.get(server) ?? new Map<string, CatalogTool>();
      ofServer.set(tool.name, entry);
      this.#byOrigin.set(server, ofServer);
      return [entry];
    });
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
