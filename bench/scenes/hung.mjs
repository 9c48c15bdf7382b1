/**
 * A start that hangs: the first answer of a healthy server while others never answer `initialize`. Every peer is used by
 * its own entry for many servers, where it has one; a bare client has none and is connected server by server.
 */
import { PeerHost } from '../hosts.mjs';
import { labelOf } from '../peers/list.mjs';
import { ECHO, MISCHIEF } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'first answer of a healthy server while 1 and 9 others never answer initialize';

/** Some entries wait two minutes for the silent one. */
const LIMIT_MS = 130_000;
/** A peer this slow is not measured again: it waits for a limit, and the limit does not change. */
const SLOW_MS = 10_000;

export async function run({ peers, runs }) {
  const clients = peers.filter(({ bound }) => bound !== true);
  const rows = [];
  for (const deaf of [1, 9]) {
    const slow = new Map();
    const starters = clients.map((peer) => ({ label: labelOf(peer), peer }));
    const measure = async ({ peer }) => {
      const figures = slow.get(peer) ?? (await startOnce(peer, deaf));
      if (figures.firstAnswerMs > SLOW_MS) slow.set(peer, figures);
      return figures;
    };
    const identity = { case: `${deaf} of ${deaf + 1} hangs`, servers: deaf + 1 };
    rows.push(...(await compare(identity, starters, runs, 'firstAnswerMs', measure)));
  }
  return rows;
}

async function startOnce(peer, deaf) {
  const host = new PeerHost(peer, 'hung');
  const servers = { healthy: { args: [ECHO] } };
  for (let i = 0; i < deaf; i++) servers[`deaf${i}`] = { args: [MISCHIEF, '--deaf'] };
  try {
    const { firstAnswerMs, waitShare } = await host.do(
      'connect',
      { servers, awaited: ['healthy'], first: 'healthy' },
      LIMIT_MS,
    );
    return { firstAnswerMs, waitShare };
  } finally {
    // Peers wait for their deaf servers when they close; the process group is ended instead.
    await host.renew();
  }
}
