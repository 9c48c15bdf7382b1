/** Large answers: how long the agent's loop stands still, when the answer is only received, and when it is decoded. */
import { quietSample } from '../measure.mjs';
import * as bulkhead from '../peers/bulkhead.mjs';
import * as sdk1 from '../peers/sdk1.mjs';
import { MISCHIEF } from '../places.mjs';
import { compare } from '../rows.mjs';

const MB = 1024 * 1024;

export async function run({ runs }) {
  const servers = { big: [MISCHIEF] };
  const peers = [await sdk1.open(servers), await bulkhead.open(servers)];
  const rows = [];
  try {
    for (const peer of peers) peer.decode(await peer.call('big', 'answer', { bytes: MB }));
    for (const sizeMb of [1, 8, 32]) {
      for (const kind of ['received', 'decoded']) {
        const measure = async (peer) => {
          const { wallMs, loopMs, maxLoopDelayMs, waitShare } = await quietSample(async () => {
            const result = await peer.call('big', 'answer', { bytes: sizeMb * MB });
            if (kind === 'decoded' && peer.decode(result)[0].text.length !== sizeMb * MB) {
              throw new Error(`${peer.name}: the answer of ${sizeMb} MB has another length`);
            }
          });
          return { tookMs: wallMs, loopMs, maxLoopDelayMs, waitShare };
        };
        rows.push(...(await compare({ case: kind, sizeMb }, peers, runs, 'maxLoopDelayMs', measure)));
      }
    }
  } finally {
    await Promise.all(peers.map((peer) => peer.close()));
  }
  return rows;
}
