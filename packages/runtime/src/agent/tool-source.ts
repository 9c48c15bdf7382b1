/** What a toolset is made from: the host's own tools, which must not take names of others, and a runtime's catalog. */
import { BulkheadError } from '@bulkhead/workers';
import { isMcpTool } from '../naming.js';
import { type McpToolOptions, McpTools, type ToolsetRuntime } from './mcp-tools.js';
import { TOOL_SEARCH_NAME } from './search/tool-search.js';
import type { Tool } from './tool.js';

/** Where a set's tools come from: a runtime and the host, or the set that it was forked from. */
export interface ToolSource {
  /** Equal as long as `read()` gives the same. */
  version(): string;
  read(): readonly Tool[];
  /** Calls of the MCP tools pass a gate of their runtime. */
  readonly gated: boolean;
}

/** Local tools first, as they do not change under a provider's cache; then those of servers. */
export function sourceOf(
  options: McpToolOptions,
  runtime: ToolsetRuntime | undefined,
  localTools: readonly Tool[],
): ToolSource {
  if (runtime === undefined) return { version: () => '', read: () => localTools, gated: false };
  const mcpTools = new McpTools(runtime, options);
  return {
    version: () => `${runtime.catalog().hash} ${mcpTools.trusted().join(' ')}`,
    read: () => [...localTools, ...mcpTools.read(runtime.catalog().tools)],
    get gated() {
      return runtime.gated === true;
    },
  };
}

/** @throws {BulkheadError} `BAD_CONFIG` for a name that another tool has or could get. */
export function checkLocal(
  localTools: readonly Tool[],
  runtime: ToolsetRuntime | undefined,
  search: boolean,
): void {
  const seen = new Set<string>();
  for (const { name, identity } of localTools) {
    const fail = (what: string) => {
      throw new BulkheadError('BAD_CONFIG', `local tool "${name}" ${what}; give it another name`, {
        tool: name,
      });
    };
    if (identity.kind !== 'local') fail('says that it is a tool of a server');
    const foreign = runtime?.catalog().tools.find(({ fullName }) => fullName === name);
    if (foreign !== undefined) fail(`has the name of tool "${foreign.name}" of server "${foreign.server}"`);
    if (isMcpTool(name)) fail('has a name that begins with "mcp__", which a tool of a server could get');
    if (search && name === TOOL_SEARCH_NAME) fail('has the name of the tool that searches for tools');
    if (seen.has(name)) fail('is given twice');
    seen.add(name);
  }
}
