/** `MCPClient` of `mcp-use` with a session per server. */
import { importFrom } from './installed.mjs';

export async function connect(servers, { directory, onReady }) {
  process.env.MCP_USE_ANONYMIZED_TELEMETRY = 'false';
  const { MCPClient } = await importFrom(directory, 'mcp-use');
  const entries = Object.entries(servers).map(([name, { args, url }]) => [
    name,
    url === undefined ? { command: process.execPath, args } : { url },
  ]);
  const client = new MCPClient({ mcpServers: Object.fromEntries(entries) });
  const sessions = new Map(Object.entries(await client.createAllSessions()));
  for (const name of sessions.keys()) onReady(name);
  return {
    call: (server, tool, args) => sessions.get(server).callTool(tool, args),
    decode: (result) => result.content,
    close: () => client.closeAllSessions(),
  };
}
