#!/usr/bin/env node
/**
 * A server that looks healthy and is not: it handshakes, lists one tool, `wait`, answers pings, and never answers a
 * call. It leaves when its stdin ends.
 */
import { createInterface } from 'node:readline';

const TOOL = {
  name: 'wait',
  description: 'Never answers.',
  inputSchema: { type: 'object', properties: { reason: { type: 'string' } } },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === 'initialize') {
    const serverInfo = { name: 'hang', version: '1.0.0' };
    send({
      id,
      result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo },
    });
  } else if (method === 'tools/list') {
    send({ id, result: { tools: [TOOL] } });
  } else if (method === 'ping') {
    send({ id, result: {} });
  } else if (method !== 'tools/call') {
    send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
  }
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}
