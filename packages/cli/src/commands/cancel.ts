/** `bulkhead cancel`: no further call of a batch starts, and its other lines get their end. */
import type { StoreOptions } from '../cluster/store-location.js';
import { withCluster } from '../cluster/with-cluster.js';
import type { Context } from '../context.js';
import { exitCode } from '../exit-codes.js';

export interface CancelOptions extends StoreOptions {
  remove?: boolean;
}

export async function cancel(id: string, options: CancelOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const removed = options.remove === true;
  await withCluster(options, context, async (cluster) => {
    await interrupt.race(cluster.cancel(id));
    if (removed) await interrupt.race(cluster.remove(id));
    if (output.json) await output.data(`${JSON.stringify({ id, cancelled: true, removed })}\n`);
    else if (removed) output.note(`batch "${id}" is cancelled and forgotten`);
    else {
      output.note(`batch "${id}" is cancelled; its results: bulkhead results ${id} --out FILE`);
    }
  });
  return exitCode.ok;
}
