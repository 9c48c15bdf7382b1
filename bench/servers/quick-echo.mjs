#!/usr/bin/env node
/**
 * The echo server for load runs: answers `tools/call` by cutting the text out of the line instead of parsing it, so that
 * on a small machine the host is what is measured, whichever host it is. Everything else is parsed and answered as usual.
 */
const TOOL = {
  name: 'echo',
  description: 'Gives the text back.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
};
const CALL = '"method":"tools/call"';
const ID = '"id":';
const TEXT = '"text":"';

function resultOf({ method, params }) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'quick-echo', version: '1.0.0' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: [TOOL] };
    default:
      return undefined;
  }
}

/** The first quote that no backslash escapes. */
function closingQuote(line, from) {
  let at = line.indexOf('"', from);
  while (line[at - 1] === '\\') at = line.indexOf('"', at + 1);
  return at;
}

function reply(line) {
  const text = line.includes(CALL) ? line.indexOf(TEXT) : -1;
  if (text !== -1) {
    const from = text + TEXT.length;
    const id = Number.parseInt(line.slice(line.indexOf(ID) + ID.length), 10);
    return `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${line.slice(from, closingQuote(line, from))}"}]}}\n`;
  }
  const message = JSON.parse(line);
  if (message.id === undefined || message.method === undefined) return '';
  const result = resultOf(message);
  const { id, method } = message;
  const error = { code: -32601, message: `Method not found: ${method}` };
  return `${JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) })}\n`;
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  let replies = '';
  for (const line of lines) replies += reply(line);
  if (replies !== '') process.stdout.write(replies);
});
