/** In which order the servers stand. Pure. */
import type { ServerRow } from '@bulkhead/runtime/control/client';
import { errorsOf } from '../resident/figures.js';

export const sortKeys = ['name', 'state', 'calls', 'errors', 'p99', 'restarts', 'memory'] as const;
export type SortKey = (typeof sortKeys)[number];

/** What needs a look comes first. */
const urgency: Record<ServerRow['state'], number> = {
  quarantined: 0,
  lost: 1,
  backoff: 2,
  'needs-approval': 3,
  'needs-auth': 4,
  killing: 5,
  reconnecting: 6,
  connecting: 7,
  starting: 8,
  draining: 9,
  stopping: 10,
  ready: 11,
  stopped: 12,
  disabled: 13,
};

/** The largest first, names from A on; equal ones by name. */
export function sorted(rows: readonly ServerRow[], key: SortKey): ServerRow[] {
  const figure = figures[key];
  return [...rows].sort((a, b) => figure(b) - figure(a) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

export function nextKey(key: SortKey): SortKey {
  return sortKeys[(sortKeys.indexOf(key) + 1) % sortKeys.length] ?? 'name';
}

const figures: Record<SortKey, (row: ServerRow) => number> = {
  name: () => 0,
  state: ({ state }) => -urgency[state],
  calls: ({ stats }) => stats.calls,
  errors: ({ stats }) => errorsOf(stats),
  p99: ({ stats }) => stats.latency?.p99 ?? -1,
  restarts: ({ restarts }) => restarts,
  memory: ({ rssBytes }) => rssBytes ?? -1,
};
