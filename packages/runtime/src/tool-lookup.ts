/** Finds tools by words, for a person: the same index that a model's tool search asks. Loaded on first use. */
import type { CatalogTool } from './api.js';

/** The best of `tools` first, at most `limit`. */
export async function findTools(
  tools: readonly CatalogTool[],
  words: string,
  limit: number,
): Promise<CatalogTool[]> {
  const { ToolIndex } = await import('./agent/search/tool-index.js');
  const searched = tools.map((tool) => ({
    name: tool.fullName,
    identity: { kind: 'mcp' as const, server: tool.server, tool: tool.name },
    description: tool.description ?? '',
    inputSchema: tool.inputSchema,
    tool,
  }));
  const found = await new ToolIndex<(typeof searched)[number]>().find(searched, words, limit);
  return found.map(({ tool }) => tool);
}
