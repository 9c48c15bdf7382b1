/** One call at a time: what a single step of an agent waits. */
import { figuresOf, load } from '../load.mjs';
import { quietSample } from '../measure.mjs';
import * as bulkhead from '../peers/bulkhead.mjs';
import * as sdk1 from '../peers/sdk1.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export async function run({ runs, sampleMs }) {
  const servers = { echo: [ECHO] };
  const peers = [await sdk1.open(servers), await bulkhead.open(servers)];
  const echo = (peer) => () => peer.call('echo', 'echo', { text: 'hello' });
  try {
    for (const peer of peers) await load(echo(peer), { inFlight: 1, until: sampleMs });
    return await compare({ inFlight: 1 }, peers, runs, 'p50Ms', async (peer) => {
      const { callsPerSecond: _, ...figures } = figuresOf(
        await quietSample(() => load(echo(peer), { inFlight: 1, until: sampleMs })),
      );
      return figures;
    });
  } finally {
    await Promise.all(peers.map((peer) => peer.close()));
  }
}
