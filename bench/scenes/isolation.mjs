/**
 * The noisy neighbour: a healthy server's calls alone, beside one that gives 8 MB three times, and beside five neighbours
 * that hang, flood and spin. Neighbours misbehave only while their own host is measured.
 */
import { withHosts } from '../hosts.mjs';
import { figuresOf, load } from '../load.mjs';
import { quietSample } from '../measure.mjs';
import { ECHO, MISCHIEF } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about =
  'a healthy server beside one that answers with 8 MB three times, and beside hanging, flooding, spinning ones';

const NEIGHBOURS = ['hang1', 'hang2', 'flood1', 'flood2', 'spin'];
const BIG_BYTES = 8 * 1024 * 1024;
const BIG_ANSWERS = 3;

/** What goes on beside the load, by case: gives the load's end, in ms or as a promise. */
const BESIDE = {
  nothing: (_, { sampleMs }) => sampleMs,
  bytes: (peer) => bigAnswers(peer, () => {}),
  text: (peer) =>
    bigAnswers(peer, (result) => {
      if (peer.decode(result)[0].text.length !== BIG_BYTES)
        throw new Error('a big answer has another length');
    }),
  /** Calls that never end go down with their host. */
  mischief(peer, { sampleMs }) {
    for (const name of NEIGHBOURS) {
      const tool = name.replace(/\d$/, '');
      peer.call(name, tool, tool === 'hang' ? {} : { ms: sampleMs }).catch(() => {});
    }
    return sampleMs;
  },
};

async function bigAnswers(peer, take) {
  for (let i = 0; i < BIG_ANSWERS; i++) take(await peer.call('big', 'answer', { bytes: BIG_BYTES }));
}

export const tasks = {
  async beside(peer, { what, inFlight, sampleMs }) {
    const echo = () => peer.call('healthy', 'echo', { text: 'hello' });
    const figures = figuresOf(
      await quietSample(() => load(echo, { inFlight, until: BESIDE[what](peer, { sampleMs }) })),
    );
    // Leftovers of a flood must not run into the next sample: each neighbour answers in order.
    const answering = what === 'mischief' ? NEIGHBOURS.filter((name) => !name.startsWith('hang')) : [];
    await Promise.all(answering.map((name) => peer.call(name, 'echo', {})));
    return figures;
  },
};

const CASES = [
  { case: 'alone', what: 'nothing', inFlight: 16, lead: 'callsPerSecond' },
  { case: '3 × 8 MB beside, as bytes', what: 'bytes', inFlight: 16, lead: 'callsPerSecond' },
  { case: '3 × 8 MB beside, as text', what: 'text', inFlight: 16, lead: 'callsPerSecond' },
  { case: 'alone', what: 'nothing', inFlight: 1, lead: 'p99Ms' },
  { case: '5 neighbours', what: 'mischief', inFlight: 1, lead: 'p99Ms' },
];

export function run({ peers, runs, sampleMs }) {
  const clients = peers.filter(({ bound }) => bound !== true);
  const servers = { healthy: { args: [ECHO] }, big: { args: [MISCHIEF] } };
  for (const name of NEIGHBOURS) servers[name] = { args: [MISCHIEF] };
  return withHosts(clients, 'isolation', servers, async (hosts) => {
    const rows = [];
    for (const host of hosts) {
      for (const what of ['nothing', 'text']) {
        await host.do('beside', { what, inFlight: 16, sampleMs }).catch(() => {});
      }
    }
    for (const { lead, what, ...identity } of CASES) {
      const measure = (host) => host.do('beside', { what, inFlight: identity.inFlight, sampleMs });
      rows.push(...(await compare(identity, hosts, runs, lead, measure)));
    }
    return withRatioToAlone(rows);
  });
}

/** What is left of the rate of the same peer without neighbours, where the rate leads. */
function withRatioToAlone(rows) {
  return rows.map((row) => {
    const alone = rows.find(
      (other) =>
        other.case === 'alone' &&
        other.name === row.name &&
        other.node === row.node &&
        other.inFlight === row.inFlight,
    );
    const ratio = row.callsPerSecond / alone?.callsPerSecond;
    return Number.isFinite(ratio) ? { ...row, ratioToAlone: ratio } : row;
  });
}
