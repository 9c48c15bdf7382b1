/** Streamable HTTP with JSON answers, the server in a process of its own on the loopback address. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { withHosts } from '../hosts.mjs';
import { HTTP_ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'calls/s and loop time per call over HTTP at 1 and 64 in flight';

export async function run({ peers, runs, sampleMs }) {
  const clients = peers.filter(({ http }) => http === true);
  const server = spawn(process.execPath, [HTTP_ECHO], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
    return await withHosts(clients, 'http', { echo: { url: line.trim() } }, async (hosts) => {
      const rows = [];
      const load = (host, inFlight) => host.do('load', { servers: ['echo'], inFlight, sampleMs });
      for (const host of hosts) await load(host, 64).catch(() => {});
      for (const inFlight of [1, 64]) {
        rows.push(
          ...(await compare({ inFlight }, hosts, runs, 'callsPerSecond', (host) => load(host, inFlight))),
        );
      }
      return rows;
    });
  } finally {
    server.stdin.end();
  }
}
