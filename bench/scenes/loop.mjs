/** What a call costs the agent's own loop, by the size of its text (which goes there and comes back). */
import { withHosts } from '../hosts.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'the agent’s loop time per call at 64 in flight, with texts of 100 B, 1 kB and 10 kB';

const IN_FLIGHT = 64;
const SIZES = [
  ['100 B', 100],
  ['1 kB', 1_000],
  ['10 kB', 10_000],
];

export function run({ peers, runs, sampleMs }) {
  return withHosts(peers, 'loop', { echo: { args: [ECHO] } }, async (hosts) => {
    const rows = [];
    const load = (host, bytes) =>
      host.do('load', { servers: ['echo'], inFlight: IN_FLIGHT, sampleMs, text: 'x'.repeat(bytes) });
    for (const host of hosts) await load(host, 100).catch(() => {});
    for (const [name, bytes] of SIZES) {
      const identity = { case: name, inFlight: IN_FLIGHT };
      rows.push(...(await compare(identity, hosts, runs, 'loopMicrosPerCall', (host) => load(host, bytes))));
    }
    return rows;
  });
}
