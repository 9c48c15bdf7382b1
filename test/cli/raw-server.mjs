// A stdio MCP server whose one tool gives back the exact line it received, and an integer that no double can hold.
import { createInterface } from 'node:readline';

const send = (id, result) => process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    const { protocolVersion } = params;
    const serverInfo = { name: 'raw', version: '1.0.0' };
    send(id, JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo }));
  } else if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: { id: { type: 'integer' } } };
    send(id, JSON.stringify({ tools: [{ name: 'raw', inputSchema }] }));
  } else if (method === 'tools/call') {
    const block = JSON.stringify({ type: 'text', text: line });
    const content = params.arguments.quiet ? '' : block;
    send(id, `{"content":[${content}],"structuredContent":{"id": 1915883588174806058}}`);
  }
});
