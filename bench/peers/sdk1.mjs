/** `Client` of `@modelcontextprotocol/sdk` over its own transports, on the agent's loop. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { MAX_MESSAGE_BYTES } from '../places.mjs';
import { connectEach } from './each.mjs';

function transportOf({ args, url }) {
  if (url !== undefined) return new StreamableHTTPClientTransport(new URL(url));
  // With the SDK's default of 10 MiB a larger answer ends the connection.
  return new StdioClientTransport({
    command: process.execPath,
    args,
    stderr: 'ignore',
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
}

export async function connect(servers, options) {
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
