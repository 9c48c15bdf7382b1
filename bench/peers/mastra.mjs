/** `MCPClient` of `@mastra/mcp` over all servers; calls go through the tools that it gives to an agent. */
import { importFrom } from './installed.mjs';

export async function connect(servers, { directory, onReady }) {
  const { MCPClient } = await importFrom(directory, '@mastra/mcp');
  const entries = Object.entries(servers).map(([name, { args, url }]) => [
    name,
    url === undefined
      ? { command: process.execPath, args, stderr: 'ignore', enableServerLogs: false }
      : { url: new URL(url), enableServerLogs: false },
  ]);
  const client = new MCPClient({ id: 'bench', servers: Object.fromEntries(entries) });
  const byServer = new Map(Object.entries(await toolsetsOf(client)));
  for (const server of byServer.keys()) onReady(server);
  return {
    call(server, tool, args) {
      // The first argument is the input itself since 1.0, and was wrapped before.
      const { execute, inputSchema } = byServer.get(server)[tool];
      return client.wrapsInput ? execute({ context: args, inputSchema }) : execute(args, {});
    },
    decode: (result) => (Array.isArray(result) ? result : result.content),
    close: () => client.disconnect(),
  };
}

function toolsetsOf(client) {
  if (typeof client.listToolsets === 'function') return client.listToolsets();
  client.wrapsInput = true;
  return client.getToolsets();
}
