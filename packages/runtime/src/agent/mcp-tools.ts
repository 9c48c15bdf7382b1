/**
 * Tools of MCP servers as an agent sees them, made from the runtime's catalog in its order. A tool whose definition did
 * not change stays the same object over refreshes, so whoever keeps something per tool can tell.
 */
import type { CatalogTool, RuntimeApi } from '../api.js';
import { inferCapabilities } from './capabilities.js';
import type { JsonSchema, Tool } from './tool.js';

/** What a toolset needs of a runtime; an attached one will do. */
export type ToolsetRuntime = Pick<RuntimeApi, 'catalog' | 'server' | 'servers'> &
  Partial<Pick<RuntimeApi, 'gated'>>;

/** How tools of servers are shown to a model. */
export interface McpToolOptions {
  /**
   * Puts the server before each description: `true` for its name in brackets, or the words for a server. For models that
   * take little from names. Default: descriptions as they are.
   */
  describeServer?: boolean | ((server: string) => string | undefined);
}

export class McpTools {
  readonly #runtime: ToolsetRuntime;
  readonly #describe: (server: string) => string | undefined;
  #known = new Map<string, { source: string; tool: Tool }>();

  constructor(runtime: ToolsetRuntime, { describeServer = false }: McpToolOptions) {
    this.#runtime = runtime;
    this.#describe =
      typeof describeServer === 'function'
        ? describeServer
        : (server) => (describeServer ? `[${server}]` : undefined);
  }

  /** Servers whose hints the user believes. */
  trusted(): readonly string[] {
    return this.#runtime
      .servers()
      .flatMap(({ name, trust }) => (trust?.trusted === true ? [name] : []))
      .sort();
  }

  /** Sorted by server, then by raw name, as the catalog is. */
  read(definitions: readonly CatalogTool[]): readonly Tool[] {
    const trusted = new Set(this.trusted());
    const known = new Map<string, { source: string; tool: Tool }>();
    const tools = definitions.map((definition) => {
      const { fullName, server } = definition;
      const before = this.#known.get(fullName);
      const prefix = this.#describe(server);
      const source = JSON.stringify([prefix, trusted.has(server), definition]);
      const entry =
        before?.source === source ? before : { source, tool: this.#tool(definition, prefix, trusted) };
      known.set(fullName, entry);
      return entry.tool;
    });
    this.#known = known;
    return tools;
  }

  #tool(definition: CatalogTool, prefix: string | undefined, trusted: ReadonlySet<string>): Tool {
    const { fullName, server, name, description = '', inputSchema, annotations } = definition;
    const runtime = this.#runtime;
    return Object.freeze<Tool>({
      name: fullName,
      description: prefix === undefined ? description : `${prefix} ${description}`.trimEnd(),
      inputSchema: usable(inputSchema),
      identity: { kind: 'mcp', server, tool: name },
      capabilities: inferCapabilities({ name, description, annotations }, { trusted: trusted.has(server) }),
      facts: () => ({ definition, origin: runtime.server(server).trust }),
      async execute(args, { callId, signal, onProgress }) {
        const result = await runtime.server(server).callTool(name, args, {
          callId,
          signal,
          route: 'agent',
          ...(onProgress && { onProgress }),
        });
        return { isError: result.isError, result };
      },
    });
  }
}

/** Providers refuse a tool without a schema, and one that does not say it takes an object. */
function usable(schema: JsonSchema | undefined): JsonSchema {
  return schema === undefined || Object.keys(schema).length === 0 ? { type: 'object' } : schema;
}
