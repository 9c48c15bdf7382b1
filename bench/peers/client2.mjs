/** `Client` of `@modelcontextprotocol/client`, the second major of the SDK, on the agent's loop. */
import { MAX_MESSAGE_BYTES } from '../places.mjs';
import { connectEach } from './each.mjs';
import { importFrom } from './installed.mjs';

export async function connect(servers, options) {
  const { Client, StreamableHTTPClientTransport } = await importFrom(
    options.directory,
    '@modelcontextprotocol/client',
  );
  const { StdioClientTransport } = await importFrom(options.directory, '@modelcontextprotocol/client/stdio');
  const transportOf = ({ args, url }) =>
    url === undefined
      ? new StdioClientTransport({
          command: process.execPath,
          args,
          stderr: 'ignore',
          maxBufferSize: MAX_MESSAGE_BYTES,
        })
      : new StreamableHTTPClientTransport(new URL(url));
  const connectOne = async (_, spec) => {
    const client = new Client({ name: 'bench', version: '1.0.0' });
    await client.connect(transportOf(spec));
    await client.listTools();
    return client;
  };
  const { clients, close } = await connectEach(servers, options, connectOne, (client) => client.close());
  return {
    call: (server, tool, args) => clients.get(server).callTool({ name: tool, arguments: args }),
    decode: (result) => result.content,
    close,
  };
}
