/** The store for the length of one command: opened, closed on every way out. */
import { type Cluster, openCluster, type StoreOptions as Patience } from '@bulkhead/cluster';
import type { Context } from '../context.js';
import { plain } from '../output.js';
import { type StoreOptions, storeLocation } from './store-location.js';

export async function withCluster<T>(
  options: StoreOptions,
  { interrupt }: Context,
  use: (cluster: Cluster) => Promise<T>,
  patience: Patience = {},
): Promise<T> {
  const cluster = await interrupt.race(openCluster({ ...storeLocation(options, process.env), ...patience }));
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
