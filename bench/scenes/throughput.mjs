/** Calls as fast as they go, at several numbers in flight; a raw pipe is the upper bound. */
import { withHosts } from '../hosts.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about =
  'calls/s, loop and CPU time per call at 1, 16, 64 and 256 in flight; a raw pipe as the upper bound';

export function run({ peers, runs, sampleMs, inFlights = [1, 16, 64, 256] }) {
  return withHosts(peers, 'throughput', { echo: { args: [ECHO] } }, async (hosts) => {
    const rows = [];
    const load = (host, inFlight) => host.do('load', { servers: ['echo'], inFlight, sampleMs });
    // Compilers settle first, at a load like the measured one.
    for (const host of hosts) await load(host, 64).catch(() => {});
    for (const inFlight of inFlights) {
      rows.push(
        ...(await compare({ inFlight }, hosts, runs, 'callsPerSecond', (host) => load(host, inFlight))),
      );
    }
    return rows;
  });
}
