/** The peer: `Client` of `@modelcontextprotocol/sdk` over `StdioClientTransport`, on the agent's own loop. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

/** As Bulkhead's own limit. With the SDK's default of 10 MiB a larger answer ends the connection. */
const MAX_BUFFER_BYTES = 64 * 1024 * 1024;

/** Every client connects by itself: a server that never answers keeps nobody else waiting here. */
export async function open(servers, awaited = Object.keys(servers)) {
  const clients = new Map();
  const waits = [];
  for (const [name, args] of Object.entries(servers)) {
    const client = new Client({ name: 'bench', version: '1.0.0' });
    clients.set(name, client);
    const transport = new StdioClientTransport({
      command: process.execPath,
      args,
      stderr: 'ignore',
      maxBufferSize: MAX_BUFFER_BYTES,
    });
    const connected = client.connect(transport).then(() => client.listTools());
    if (awaited.includes(name)) waits.push(connected);
    else connected.catch(() => {}); // ends with its client
  }
  await Promise.all(waits);
  return {
    name: 'sdk1',
    call: (server, tool, args) => clients.get(server).callTool({ name: tool, arguments: args }),
    decode: (result) => result.content,
    close: () => Promise.all([...clients.values()].map((client) => client.close())),
  };
}
