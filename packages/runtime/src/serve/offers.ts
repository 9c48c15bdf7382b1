/**
 * What all servers offer together, under served names and addresses, and which server is meant by one of them. Lists
 * hold what can be had now: a server that does not answer is left out and does not keep the others back.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { CallOptions, CatalogTool, RuntimeApi, ServerView } from '../api.js';
import { originOf, type ResourceOrigin, servedAddress } from './addresses.js';
import { Failure } from './failure.js';
import { type NameStyle, servedNames } from './names.js';

type Item = Record<string, unknown>;

export interface OffersOptions {
  style: NameStyle;
  /** How long the first list waits for servers that are starting, ms. */
  readyWaitMs: number;
}

export class Offers {
  readonly #runtime: RuntimeApi;
  readonly #options: OffersOptions;
  /** Servers had their time to become ready. */
  readonly settled: Promise<void>;
  #tools: { revision: number; byName: Map<string, CatalogTool> } | undefined;
  #prompts: Map<string, { server: string; item: Item }> | undefined;
  /** Which server listed an address, for styles that serve addresses as they are. */
  #owners = new Map<string, string>();

  constructor(runtime: RuntimeApi, options: OffersOptions) {
    this.#runtime = runtime;
    this.#options = options;
    this.settled = runtime.ready({ timeoutMs: options.readyWaitMs }).then(
      () => {},
      () => {},
    );
  }

  /** Tools by served name, in the order of the catalog. */
  tools(): ReadonlyMap<string, CatalogTool> {
    const { revision, tools } = this.#runtime.catalog();
    if (this.#tools?.revision === revision) return this.#tools.byName;
    const key = (server: string, tool: string) => `${server.length}:${server}${tool}`;
    const byOrigin = new Map(tools.map((tool) => [key(tool.server, tool.name), tool]));
    const byName = new Map<string, CatalogTool>();
    const origins = tools.map(({ server, name }) => ({ server, tool: name }));
    for (const [name, { server, tool }] of servedNames(origins, this.#options.style)) {
      const found = byOrigin.get(key(server, tool));
      if (found !== undefined) byName.set(name, found);
    }
    this.#tools = { revision, byName };
    return byName;
  }

  /** @throws {Failure} naming the servers that might have it but are not ready. */
  async tool(name: string): Promise<CatalogTool> {
    const known = this.tools().get(name);
    if (known !== undefined) return known;
    await this.settled;
    const late = this.tools().get(name);
    if (late !== undefined) return late;
    throw Failure.params(`Unknown tool: ${name}${this.#missing()}`);
  }

  async prompts(options: CallOptions): Promise<Item[]> {
    await this.settled;
    const lists = await this.#each((view) => view.listPrompts(options));
    const origins = lists.flatMap(({ server, items }) =>
      items.map((item) => ({ server, tool: String(item.name), item })),
    );
    const served = new Map<string, { server: string; item: Item }>();
    for (const [name, { server, tool }] of servedNames(origins, this.#options.style)) {
      const found = origins.find((origin) => origin.server === server && origin.tool === tool);
      if (found !== undefined) served.set(name, { server, item: found.item });
    }
    this.#prompts = served;
    return [...served].map(([name, { item }]) => ({ ...item, name }));
  }

  /** @throws {Failure} */
  async prompt(name: string, options: CallOptions): Promise<{ view: ServerView; prompt: string }> {
    if (this.#prompts?.has(name) !== true) await this.prompts(options);
    const found = this.#prompts?.get(name);
    if (found === undefined) throw Failure.params(`Unknown prompt: ${name}${this.#missing()}`);
    return { view: this.#runtime.server(found.server), prompt: String(found.item.name) };
  }

  forgetPrompts(): void {
    this.#prompts = undefined;
  }

  async resources(options: CallOptions): Promise<Item[]> {
    await this.settled;
    return this.#addressed(await this.#each((view) => view.listResources(options)), 'uri');
  }

  async resourceTemplates(options: CallOptions): Promise<Item[]> {
    await this.settled;
    return this.#addressed(await this.#each((view) => view.listResourceTemplates(options)), 'uriTemplate');
  }

  /** An origin as clients know it. */
  address(origin: ResourceOrigin): string {
    const plain = this.#options.style.kind === 'plain' && this.#owners.get(origin.uri) === origin.server;
    return plain ? origin.uri : servedAddress(origin);
  }

  /**
   * Asks the server of an address. One without prefix, from the text of a tool for instance, is asked of whoever listed
   * it, else of one server after the other until one knows it.
   * @throws {Failure} when no server knows it.
   */
  async withResource<T>(address: string, ask: (view: ServerView, uri: string) => Promise<T>): Promise<T> {
    await this.settled;
    const origin = this.#origin(address);
    if (origin !== undefined) return ask(this.#runtime.server(origin.server), origin.uri);
    const refusals: BulkheadError[] = [];
    for (const view of this.#ready()) {
      try {
        return await ask(view, address);
      } catch (error) {
        if (!(error instanceof BulkheadError) || error.code === 'CANCELLED') throw error;
        if (error.code !== 'UNSUPPORTED') refusals.push(error);
      }
    }
    if (refusals.length === 1 && refusals[0] !== undefined) throw refusals[0];
    throw Failure.resource(`no server has the resource ${address}${this.#missing()}`, address);
  }

  #origin(address: string): ResourceOrigin | undefined {
    const prefixed = originOf(address);
    if (prefixed !== undefined && this.#runtime.servers().some(({ name }) => name === prefixed.server)) {
      return prefixed;
    }
    const server = this.#owners.get(address);
    return server === undefined ? undefined : { server, uri: address };
  }

  #addressed(lists: { server: string; items: Item[] }[], member: 'uri' | 'uriTemplate'): Item[] {
    const owners = new Map<string, string | undefined>();
    for (const { server, items } of lists) {
      for (const item of items) {
        const uri = String(item[member]);
        owners.set(uri, owners.has(uri) && owners.get(uri) !== server ? undefined : server);
      }
    }
    for (const [uri, server] of owners) {
      if (server === undefined) this.#owners.delete(uri);
      else this.#owners.set(uri, server);
    }
    return lists.flatMap(({ server, items }) =>
      items.map((item) => ({ ...item, [member]: this.address({ server, uri: String(item[member]) }) })),
    );
  }

  async #each(list: (view: ServerView) => Promise<Item[]>): Promise<{ server: string; items: Item[] }[]> {
    const views = this.#ready();
    const lists = await Promise.allSettled(views.map(list));
    return lists.flatMap((settled, index) => {
      const server = views[index]?.name;
      return settled.status === 'fulfilled' && server !== undefined ? [{ server, items: settled.value }] : [];
    });
  }

  #ready(): ServerView[] {
    return this.#runtime.servers().filter(({ state }) => state === 'ready');
  }

  #missing(): string {
    const down = this.#runtime.servers().filter(({ state }) => state !== 'ready' && state !== 'disabled');
    if (down.length === 0) return '';
    return `; not ready: ${down.map(({ name, state }) => `${name} (${state})`).join(', ')}`;
  }
}
