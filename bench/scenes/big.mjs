/** Large answers: how long the agent's loop stands still, when the answer is only received, and when it is decoded. */
import { withHosts } from '../hosts.mjs';
import { quietSample } from '../measure.mjs';
import { MISCHIEF } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'answers of 1, 8, 32 and 64 MB, received and decoded: the loop’s longest delay';

const MB = 1024 * 1024;

export const tasks = {
  async answer(peer, { sizeMb, decoded }) {
    const { wallMs, loopMs, maxLoopDelayMs, waitShare } = await quietSample(async () => {
      const result = await peer.call('big', 'answer', { bytes: sizeMb * MB });
      if (decoded && peer.decode(result)[0].text.length !== sizeMb * MB) {
        throw new Error(`the answer of ${sizeMb} MB has another length`);
      }
    });
    return { tookMs: wallMs, loopMs, maxLoopDelayMs, waitShare };
  },
};

export function run({ peers, runs, sizesMb = [1, 8, 32, 64] }) {
  const clients = peers.filter(({ bound }) => bound !== true);
  return withHosts(clients, 'big', { big: { args: [MISCHIEF] } }, async (hosts) => {
    const rows = [];
    for (const host of hosts) await host.do('answer', { sizeMb: 1, decoded: true }).catch(() => {});
    for (const sizeMb of sizesMb) {
      for (const kind of ['received', 'decoded']) {
        const measure = (host) => host.do('answer', { sizeMb, decoded: kind === 'decoded' });
        rows.push(...(await compare({ case: kind, sizeMb }, hosts, runs, 'maxLoopDelayMs', measure)));
      }
    }
    return rows;
  });
}
