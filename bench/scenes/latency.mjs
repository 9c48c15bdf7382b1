/** One call at a time: what a single step of an agent waits. */
import { withHosts } from '../hosts.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'one call in flight: what a single step waits';

export function run({ peers, runs, sampleMs }) {
  return withHosts(peers, 'latency', { echo: { args: [ECHO] } }, async (hosts) => {
    const load = (host) => host.do('load', { servers: ['echo'], inFlight: 1, sampleMs });
    for (const host of hosts) await load(host).catch(() => {});
    return await compare({ inFlight: 1 }, hosts, runs, 'p50Ms', async (host) => {
      const { callsPerSecond: _, ...figures } = await load(host);
      return figures;
    });
  });
}
