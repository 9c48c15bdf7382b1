/** `createMCPClient()` of `@ai-sdk/mcp`: one client per server; calls go through the tools that it gives to a model. */
import { connectEach } from './each.mjs';
import { importFrom } from './installed.mjs';

export async function connect(servers, options) {
  const { createMCPClient } = await importFrom(options.directory, '@ai-sdk/mcp');
  const { Experimental_StdioMCPTransport, StdioMCPTransport = Experimental_StdioMCPTransport } =
    await importFrom(options.directory, '@ai-sdk/mcp/mcp-stdio');
  const connectOne = async (_, { args, url }) => {
    const transport =
      url === undefined
        ? new StdioMCPTransport({ command: process.execPath, args, stderr: 'ignore' })
        : { type: 'http', url };
    const client = await createMCPClient({ transport });
    return { client, tools: new Map(Object.entries(await client.tools())) };
  };
  const { clients, close } = await connectEach(servers, options, connectOne, ({ client }) => client.close());
  let calls = 0;
  return {
    call: (server, tool, args) =>
      clients
        .get(server)
        .tools.get(tool)
        .execute(args, { toolCallId: String(++calls), messages: [] }),
    decode: (result) => result.content,
    close,
  };
}
