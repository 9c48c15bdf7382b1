/** Several servers at once, each at 64 in flight: whether the total holds when there are more of them. */
import { withHosts } from '../hosts.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'calls/s over 1, 2, 4 and 8 servers at once, 64 in flight on each';

const IN_FLIGHT = 64;

export function run({ peers, runs, sampleMs, counts = [1, 2, 4, 8] }) {
  const names = Array.from({ length: Math.max(...counts) }, (_, i) => `echo${i}`);
  const servers = Object.fromEntries(names.map((name) => [name, { args: [ECHO] }]));
  return withHosts(peers, 'servers', servers, async (hosts) => {
    const rows = [];
    const load = (host, count) =>
      host.do('load', { servers: names.slice(0, count), inFlight: IN_FLIGHT, sampleMs });
    for (const host of hosts) await load(host, names.length).catch(() => {});
    for (const count of counts) {
      const identity = { servers: count, inFlight: IN_FLIGHT * count };
      rows.push(...(await compare(identity, hosts, runs, 'callsPerSecond', (host) => load(host, count))));
    }
    return rows;
  });
}
