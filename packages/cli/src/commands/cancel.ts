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
    const { lines, held } = await interrupt.race(cluster.cancel(id));
    const { state } = await interrupt.race(cluster.status(id));
    if (removed) await interrupt.race(cluster.remove(id));
    if (output.json) await output.data(`${JSON.stringify({ id, lines, held, removed })}\n`);
    else if (removed) output.note(`batch "${id}" is cancelled and forgotten`);
    else if (state !== 'cancelled')
      output.note(`batch "${id}" is done already: there is nothing to cancel (--remove forgets it)`);
    else {
      const rest =
        held === 0 ? '' : `; workers end ${held} more ${held === 1 ? 'chunk' : 'chunks'} in a moment`;
      output.note(`batch "${id}" is cancelled: ${lines} lines were not sent${rest}`);
      output.note(`its results: bulkhead results ${id} --out FILE --follow`);
    }
  });
  return exitCode.ok;
}
