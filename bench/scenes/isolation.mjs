/**
 * A healthy server's calls alone, beside five neighbours that hang, flood and spin, and beside one that gives 8 MB
 * three times. Neighbours misbehave only while their own host is measured.
 */
import { figuresOf, load } from '../load.mjs';
import { quietSample } from '../measure.mjs';
import * as bulkhead from '../peers/bulkhead.mjs';
import * as sdk1 from '../peers/sdk1.mjs';
import { ECHO, MISCHIEF } from '../places.mjs';
import { compare } from '../rows.mjs';

const NEIGHBOURS = ['hang1', 'hang2', 'flood1', 'flood2', 'spin'];
const BIG_BYTES = 8 * 1024 * 1024;
const BIG_ANSWERS = 3;

/** Calls that misbehave for `ms`; those that never end go down with their host. */
function misbehave(peer, ms) {
  for (const name of NEIGHBOURS) {
    const tool = name.replace(/\d$/, '');
    const args = tool === 'hang' ? {} : { ms };
    peer.call(name, tool, args).catch(() => {});
  }
}

async function bigAnswers(peer) {
  for (let i = 0; i < BIG_ANSWERS; i++) await peer.call('big', 'answer', { bytes: BIG_BYTES });
}

export async function run({ runs, sampleMs }) {
  const servers = { healthy: [ECHO], big: [MISCHIEF] };
  for (const name of NEIGHBOURS) servers[name] = [MISCHIEF];
  const peers = [await sdk1.open(servers), await bulkhead.open(servers)];
  const echo = (peer) => () => peer.call('healthy', 'echo', { text: 'hello' });
  const cases = [
    { case: 'alone', inFlight: 1, lead: 'p99Ms', until: () => sampleMs },
    {
      case: '5 neighbours',
      inFlight: 1,
      lead: 'p99Ms',
      until(peer) {
        misbehave(peer, sampleMs);
        return sampleMs;
      },
    },
    { case: 'alone', inFlight: 16, lead: 'callsPerSecond', until: () => sampleMs },
    { case: '3 × 8 MB beside', inFlight: 16, lead: 'callsPerSecond', until: bigAnswers },
  ];
  const rows = [];
  try {
    for (const peer of peers) {
      await load(echo(peer), { inFlight: 16, until: sampleMs });
      await bigAnswers(peer);
    }
    for (const { lead, until, ...identity } of cases) {
      const measure = async (peer) => {
        const figures = figuresOf(
          await quietSample(() => load(echo(peer), { inFlight: identity.inFlight, until: until(peer) })),
        );
        // Leftovers of the flood must not run into the next sample: each neighbour answers in order.
        await Promise.all(
          NEIGHBOURS.filter((name) => !name.startsWith('hang')).map((name) => peer.call(name, 'echo', {})),
        );
        return figures;
      };
      rows.push(...(await compare(identity, peers, runs, lead, measure)));
    }
  } finally {
    await Promise.all(peers.map((peer) => peer.close()));
  }
  return rows;
}
