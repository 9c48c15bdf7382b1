#!/usr/bin/env node
/**
 * A stdio MCP server that misbehaves on request, without dependencies: `answer {bytes}` gives a text of that size, `hang`
 * never answers, `flood {ms}` sends log messages until then, `spin {ms}` keeps its loop busy, `pid` gives its process id.
 * With `--deaf` it answers nothing at all, not even `initialize`.
 */
const deaf = process.argv.includes('--deaf');
const TOOLS = ['echo', 'answer', 'hang', 'pid', 'flood', 'spin'];
const FLOOD_EVERY_MS = 20;
const FLOOD_MESSAGES = 200;
const LINE = 'path/to/file.ts:42: const value = "quoted text"; // and a comment\n';
const LOG = `${JSON.stringify({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data: 'x'.repeat(1_000) },
})}\n`;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (id, value) => send({ id, result: { content: [{ type: 'text', text: value }] } });

/** About 10 MB/s, and no faster than it is read. */
function flood(id, ms) {
  const endsAt = performance.now() + ms;
  const burst = () => {
    if (performance.now() >= endsAt) text(id, 'over');
    else if (process.stdout.write(LOG.repeat(FLOOD_MESSAGES))) setTimeout(burst, FLOOD_EVERY_MS);
    else process.stdout.once('drain', () => setTimeout(burst, FLOOD_EVERY_MS));
  };
  burst();
}

function call(id, { name, arguments: args = {} }) {
  switch (name) {
    case 'echo':
      return text(id, args.text ?? '');
    case 'answer':
      return text(id, LINE.repeat(Math.ceil(args.bytes / LINE.length)).slice(0, args.bytes));
    case 'hang':
      return;
    case 'pid':
      return text(id, String(process.pid));
    case 'flood':
      return flood(id, args.ms);
    case 'spin': {
      const endsAt = performance.now() + args.ms;
      while (performance.now() < endsAt);
      return text(id, 'over');
    }
    default:
      send({ id, error: { code: -32602, message: `Unknown tool: ${name}` } });
  }
}

function receive({ id, method, params }) {
  if (deaf || id === undefined) return;
  switch (method) {
    case 'initialize':
      return send({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {}, logging: {} },
          serverInfo: { name: 'mischief', version: '1.0.0' },
        },
      });
    case 'tools/list':
      return send({
        id,
        result: { tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) },
      });
    case 'tools/call':
      return call(id, params);
    default:
      return send({ id, result: {} });
  }
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) receive(JSON.parse(line));
});
