/**
 * The upper bound: a child's pipes on the agent's loop, requests of one turn in one write, `JSON.parse` per line, a Map of
 * ids, and nothing else: no checks, no deadlines, no cancellation, no limits.
 */
import { spawn } from 'node:child_process';

function pipe(args) {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map();
  let lastId = 0;
  let outbox = '';
  let rest = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      const resolve = waiting.get(message.id);
      waiting.delete(message.id);
      resolve?.(message.result);
    }
  });
  const flush = () => {
    child.stdin.write(outbox);
    outbox = '';
  };
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = ++lastId;
      waiting.set(id, resolve);
      if (outbox === '') void Promise.resolve().then(flush);
      outbox += `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
    });
  const close = () =>
    new Promise((resolve) => {
      child.once('exit', resolve);
      child.stdin.end();
    });
  return { request, close };
}

export async function connect(servers) {
  const pipes = new Map(Object.entries(servers).map(([name, { args }]) => [name, pipe(args)]));
  const hello = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  };
  await Promise.all([...pipes.values()].map(({ request }) => request('initialize', hello)));
  return {
    call: (server, tool, args) => pipes.get(server).request('tools/call', { name: tool, arguments: args }),
    decode: (result) => result.content,
    close: () => Promise.all([...pipes.values()].map(({ close }) => close())),
  };
}
