/** `connectMcpServers()` of `@openai/agents` over `MCPServerStdio` and `MCPServerStreamableHttp`. */
import { importFrom } from './installed.mjs';

export async function connect(servers, { directory, onReady }) {
  const { MCPServerStdio, MCPServerStreamableHttp, connectMcpServers } = await importFrom(
    directory,
    '@openai/agents',
  );
  const all = new Map(
    Object.entries(servers).map(([name, { args, url }]) => [
      name,
      url === undefined
        ? new MCPServerStdio({ name, command: process.execPath, args, cacheToolsList: true })
        : new MCPServerStreamableHttp({ name, url, cacheToolsList: true }),
    ]),
  );
  const connected = await connectMcpServers([...all.values()], { strict: true });
  for (const [name, server] of all) {
    await server.listTools();
    onReady(name);
  }
  return {
    call: (server, tool, args) => all.get(server).callTool(tool, args),
    decode: (content) => content,
    close: () => connected.close(),
  };
}
