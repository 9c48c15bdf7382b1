/** The input of a run: calls of one server, some with an affinity, some idempotent; the same ones for the same seed. */
import { generator } from '../../chaos/random.mjs';

const KEYS = 40;
const AFFINITY_SHARE = 0.2;
const IDEMPOTENT_SHARE = 0.3;

/**
 * @param {{calls: number, seed: number}} options
 * @returns {{n: number, idempotent: boolean, affinity: string | undefined}[]} by line number, the first at 0
 */
export function makeCalls({ calls, seed }) {
  const random = generator(seed, 'calls');
  return Array.from({ length: calls }, (_, i) => ({
    n: i + 1,
    idempotent: random.chance(IDEMPOTENT_SHARE),
    affinity: random.chance(AFFINITY_SHARE) ? `key-${random.between(1, KEYS)}` : undefined,
  }));
}

export function lineOf({ n, idempotent, affinity }) {
  return JSON.stringify({
    id: `call-${n}`,
    server: 'ledger',
    tool: 'work',
    arguments: { n },
    ...(idempotent && { idempotent }),
    ...(affinity !== undefined && { affinity }),
  });
}
