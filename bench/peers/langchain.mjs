/** `MultiServerMCPClient` of `@langchain/mcp-adapters`; calls go through the tools that it gives to an agent. */
import { importFrom } from './installed.mjs';

export async function connect(servers, { directory, onReady }) {
  const { MultiServerMCPClient } = await importFrom(directory, '@langchain/mcp-adapters');
  const entries = Object.entries(servers).map(([name, { args, url }]) => [
    name,
    url === undefined
      ? { transport: 'stdio', command: process.execPath, args, stderr: 'ignore' }
      : { transport: 'http', url },
  ]);
  const client = new MultiServerMCPClient({ mcpServers: Object.fromEntries(entries) });
  const byServer = await client.initializeConnections();
  const tools = new Map();
  for (const [server, list] of Object.entries(byServer)) {
    for (const tool of list) tools.set(`${server}/${tool.name}`, tool);
    onReady(server);
  }
  return {
    call: (server, tool, args) => tools.get(`${server}/${tool}`).invoke(args),
    decode: (text) => [{ type: 'text', text: typeof text === 'string' ? text : text[0].text }],
    close: () => client.close(),
  };
}
