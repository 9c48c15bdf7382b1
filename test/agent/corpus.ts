/** The corpus of real tools (`test/fixtures/tools`), and the questions that were written for it. */
import { readdirSync, readFileSync } from 'node:fs';
import { McpTools } from '../../packages/runtime/src/agent/mcp-tools.js';
import type { Tool } from '../../packages/runtime/src/agent/tool.js';
import { Catalog } from '../../packages/runtime/src/catalog.js';
import type { Json } from '../support/script.js';

export interface CorpusServer {
  server: string;
  package: string;
  version: string;
  license: string;
  tools: {
    name: string;
    description?: string;
    inputSchema: { [key: string]: Json };
    [key: string]: Json | undefined;
  }[];
}

export interface Query {
  query: string;
  /** `server.tool`, each of which would do. */
  expect: string[];
}

const folder = new URL('../fixtures/tools/', import.meta.url);
const read = (file: string): unknown => JSON.parse(readFileSync(new URL(file, folder), 'utf8'));

export const queries = read('queries.json') as Query[];
/** Written after the search was finished; nothing was tuned with them. */
export const unseenQueries = read('queries-unseen.json') as Query[];

export const corpusServers = readdirSync(folder)
  .filter((file) => file.endsWith('.json') && !file.startsWith('queries'))
  .map((file) => read(file) as CorpusServer);

/** As a toolset would give them for one runtime with all of these servers. */
export function corpusTools(servers: readonly CorpusServer[] = corpusServers): readonly Tool[] {
  const catalog = new Catalog();
  for (const { server, tools } of servers) {
    const about = { warnings: [], quarantined: [], serverInfo: { name: server, version: '1' } };
    catalog.set(server, { tools, ...about, protocolVersion: '2025-11-25', capabilities: {} });
  }
  return toolsOfCatalog(catalog);
}

/** Of a catalog without a runtime behind it: they can be read, not called. */
export function toolsOfCatalog(catalog: Catalog): readonly Tool[] {
  const runtime = {
    catalog: () => catalog.revision,
    servers: () => [],
    server: () => {
      throw new Error('no server runs here');
    },
  };
  return new McpTools(runtime, {}).read(catalog.tools);
}

/** What a request carries of tools, in bytes. */
export function requestText(tools: readonly Tool[]): string {
  return JSON.stringify(
    tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
  );
}

/** `server.tool` */
export function originOf({ identity }: Tool): string {
  return identity.kind === 'mcp' ? `${identity.server}.${identity.tool}` : identity.tool;
}
