// A stdio MCP server that books every call in a ledger before it answers. All servers of a run share the file; entries are
// appended in one write each time, so their order is the order of the calls over all processes.
// Arguments: a JSON object {ledger, delayMs}; an answer takes between half and one and a half times the delay.
import { openSync, writeSync } from 'node:fs';

const IDEMPOTENCY_KEY = 'io.github.bulkhead/idempotencyKey';

const { ledger, delayMs } = JSON.parse(process.argv[2]);
const file = openSync(ledger, 'a');
const { pid, ppid: host } = process;
const book = (entries) =>
  writeSync(file, entries.map((entry) => `${JSON.stringify({ pid, host, ...entry })}\n`).join(''));
book([{ started: true }]);

const send = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);

const NEVER_CALLS = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'ledger', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
};

function receive(messages) {
  const calls = messages.filter(({ method }) => method === 'tools/call');
  if (calls.length > 0) {
    book(calls.map(({ params }) => ({ key: params._meta?.[IDEMPOTENCY_KEY], ...params.arguments })));
  }
  for (const { id, params } of calls) {
    const { n } = params.arguments;
    // Spread by the number: answers overtake one another, and the same way in every run.
    const share = 0.5 + ((n * 7919) % 1000) / 1000;
    setTimeout(() => send(id, { content: [{ type: 'text', text: `did ${n}` }] }), delayMs * share);
  }
  for (const { id, method, params } of messages) {
    if (id !== undefined && method !== 'tools/call') send(id, NEVER_CALLS[method]?.(params) ?? {});
  }
}

let open = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (open + text).split('\n');
  open = lines.pop();
  receive(lines.filter((line) => line !== '').map((line) => JSON.parse(line)));
});
// The host is gone: so is everyone who could read an answer.
process.stdin.on('end', () => process.exit());
