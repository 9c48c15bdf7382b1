/** `bulkhead batches`: what batches a store holds. */
import type { BatchRecord } from '@bulkhead/cluster';
import { notOk, stateWord } from '../cluster/batch-figures.js';
import { sizeText } from '../cluster/sizes.js';
import type { StoreOptions } from '../cluster/store-location.js';
import { withCluster } from '../cluster/with-cluster.js';
import type { Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { age } from '../resident/figures.js';
import { table } from '../table.js';

export async function batches(options: StoreOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const found = await withCluster(options, context, (cluster) => interrupt.race(cluster.batches()));
  if (output.json) {
    await output.data(`${JSON.stringify(found)}\n`);
    return exitCode.ok;
  }
  if (found.length === 0) {
    output.note('there is no batch; put one in with: bulkhead submit calls.jsonl');
    return exitCode.ok;
  }
  const now = Date.now();
  const head = ['id', 'name', 'state', 'lines', 'done', 'not ok', 'unread', 'age'];
  await output.data(
    table(
      head,
      found.map((batch) => cells(batch, now)),
      { right: [3, 4, 5, 6, 7] },
    ),
  );
  return exitCode.ok;
}

function cells(batch: BatchRecord, now: number): string[] {
  const { id, name, lines, answered, unreadBytes, createdAt } = batch;
  return [
    id,
    plain(name),
    stateWord(batch),
    String(lines),
    String(answered),
    String(notOk(batch)),
    unreadBytes === 0 ? '-' : sizeText(unreadBytes),
    age(Math.max(0, now - createdAt)),
  ];
}
