/** Calls as fast as they go, at several numbers in flight. */
import { figuresOf, load } from '../load.mjs';
import { quietSample } from '../measure.mjs';
import * as bulkhead from '../peers/bulkhead.mjs';
import * as rawPipe from '../peers/raw-pipe.mjs';
import * as sdk1 from '../peers/sdk1.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export async function run({ runs, sampleMs, inFlights = [1, 16, 64, 256] }) {
  const servers = { echo: [ECHO] };
  const peers = [await sdk1.open(servers), await bulkhead.open(servers), await rawPipe.open(servers)];
  const echo = (peer) => () => peer.call('echo', 'echo', { text: 'hello' });
  const rows = [];
  try {
    // Compilers settle first, at a load like the measured one.
    for (const peer of peers) await load(echo(peer), { inFlight: 64, until: sampleMs });
    for (const inFlight of inFlights) {
      const measure = async (peer) =>
        figuresOf(await quietSample(() => load(echo(peer), { inFlight, until: sampleMs })));
      rows.push(...(await compare({ inFlight }, peers, runs, 'callsPerSecond', measure)));
    }
  } finally {
    await Promise.all(peers.map((peer) => peer.close()));
  }
  return rows;
}
