/** The store for the length of one command: opened, closed on every way out. */
import type { Cluster, StoreOptions as Patience } from '@bulkhead/cluster';
import type { Context } from '../context.js';
import { plain } from '../output.js';
import { type StoreOptions, storeLocation } from './store-location.js';

export async function withCluster<T>(
  options: StoreOptions,
  { interrupt }: Context,
  use: (cluster: Cluster) => Promise<T>,
  patience: Patience = {},
): Promise<T> {
  const location = storeLocation(options, process.env);
  // The queue's own modules are many: a mistake is told without them.
  const { openCluster } = await import('@bulkhead/cluster');
  const cluster = await interrupt.race(openCluster({ ...location, ...patience }));
  try {
    return await use(cluster);
  } finally {
    await cluster.close();
  }
}

/** For commands that put something into the store: which of its settings could lose it. */
export function tellWarnings({ warnings }: Cluster, { output }: Context): void {
  for (const warning of warnings) output.note(`warning: ${plain(warning)}`);
}
