/** Which chunk each line of an input is in: made by the submitter's own code, which makes the same of the same input. */
import { Chunker } from '../../../packages/cluster/dist/chunker.js';
import { clusterDefaults } from '../../../packages/cluster/dist/defaults.js';
import { lineOf } from './calls.mjs';

/** @returns {(n: number) => string} the id of a line's chunk */
export function chunksOf(batch, calls) {
  const { chunkLines, shards } = clusterDefaults;
  const chunker = new Chunker(batch, { chunkLines, shards });
  const chunks = new Map();
  const note = (made) => {
    for (const { id, data } of made) for (const [n] of data.lines) chunks.set(n, id);
  };
  for (const call of calls) {
    const text = lineOf(call);
    note(
      chunker.add(
        { line: call.n, text, bytes: text.length + 1 },
        { server: 'ledger', tool: 'work', affinity: call.affinity },
      ),
    );
  }
  note(chunker.end());
  return (n) => chunks.get(n);
}
