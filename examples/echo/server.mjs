#!/usr/bin/env node
/**
 * A stdio MCP server with one tool, `echo`, and no dependencies: as fast as Node alone can be, so that a load run
 * measures the host. Replies to everything that came in one chunk leave in one write.
 */
const TOOL = {
  name: 'echo',
  description: 'Gives the text back.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
};

function resultOf({ method, params }) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'echo', version: '1.0.0' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: [TOOL] };
    case 'tools/call':
      return params.name === TOOL.name
        ? { content: [{ type: 'text', text: params.arguments?.text ?? '' }] }
        : undefined;
    default:
      return undefined;
  }
}

function reply(line) {
  const message = JSON.parse(line);
  if (message.id === undefined || message.method === undefined) return '';
  const result = resultOf(message);
  const { id, method, params } = message;
  if (result !== undefined) return `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
  const error =
    method === 'tools/call'
      ? { code: -32602, message: `Unknown tool: ${params?.name}` }
      : { code: -32601, message: `Method not found: ${method}` };
  return `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`;
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  const replies = lines.map(reply).join('');
  if (replies !== '') process.stdout.write(replies);
});
