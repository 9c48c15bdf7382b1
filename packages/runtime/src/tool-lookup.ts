/** Finds tools by words, for a person: the same index that a model's tool search asks. Loaded on first use. */
import type { CatalogTool, RuntimeApi } from './api.js';

/** The best tools first, at most `limit`, of the servers that are ready. */
export async function findTools(
  runtime: Pick<RuntimeApi, 'catalog' | 'server' | 'servers' | 'tools'>,
  words: string,
  limit: number,
): Promise<CatalogTool[]> {
  const { McpTools } = await import('./agent/mcp-tools.js');
  const { ToolIndex } = await import('./agent/search/tool-index.js');
  const catalog = runtime.tools();
  const byName = new Map(catalog.map((tool) => [tool.fullName, tool]));
  const found = await new ToolIndex().find(new McpTools(runtime, {}).read(catalog), words, limit);
  return found.flatMap(({ name }) => byName.get(name) ?? []);
}
