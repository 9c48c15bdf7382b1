/**
 * `bulkhead serve --http` for the conformance suite's server scenarios. The suite knows no token, so a proxy of the
 * test's own adds it; everything else of a request goes through as it came.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../packages/cli/dist/main.js', import.meta.url));
const OFFERS = fileURLToPath(new URL('./offers.mjs', import.meta.url));

/**
 * Scenarios whose subject is not there, each with why. `server-sse-polling` asks a tool to close its own connection
 * in the middle of a call: a matter of HTTP servers, whose tools see the connection, and not of one that passes on.
 */
export const inapplicable = new Map([
  ['server-sse-polling', 'a tool behind the served one has no connection to close'],
]);

/** @returns {Promise<{url: string, pid: number, close: () => Promise<void>}>} */
export async function startServed(configFile) {
  writeFileSync(
    configFile,
    JSON.stringify({ mcpServers: { offers: { command: process.execPath, args: [OFFERS] } } }),
  );
  const args = [MAIN, 'serve', '--http', '--json', '--no-prefix', '--config', configFile];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const facts = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve)).then(JSON.parse),
    ended.then((code) => Promise.reject(new Error(`bulkhead serve ended with ${code}`))),
  ]);
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${facts.token}` };
    const passed = request(facts.url, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${proxy.address().port}/mcp`,
    pid: child.pid,
    async close() {
      child.kill('SIGTERM');
      await ended;
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
