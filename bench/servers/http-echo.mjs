#!/usr/bin/env node
/**
 * An MCP server over Streamable HTTP on the loopback address, with one tool, `echo`, no dependencies, and JSON answers
 * without event streams: as fast as Node alone can be. Prints its URL; ends with its stdin.
 */
import { createServer } from 'node:http';

const TOOL = { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };

function resultOf({ method, params }) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'http-echo', version: '1.0.0' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: [TOOL] };
    case 'tools/call':
      return { content: [{ type: 'text', text: params.arguments?.text ?? '' }] };
    default:
      return undefined;
  }
}

function answer(response, message) {
  if (message.id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const result = resultOf(message);
  const { id } = message;
  const reply =
    result === undefined
      ? { jsonrpc: '2.0', id, error: { code: -32601, message: `Method not found: ${message.method}` } }
      : { jsonrpc: '2.0', id, result };
  const body = JSON.stringify(reply);
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}

const server = createServer((request, response) => {
  // No event stream is offered, and there is no session to delete.
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST' }).end();
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => answer(response, JSON.parse(Buffer.concat(chunks).toString())));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.resume().once('end', () => process.exit(0));
