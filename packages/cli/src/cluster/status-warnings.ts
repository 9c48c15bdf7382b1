/** What holds a batch up that a person can change, with the command that changes it. Pure. */
import type { BatchStatus } from '@bulkhead/cluster';
import { plain } from '../output.js';
import { quoted } from './batch-figures.js';
import { sizeText } from './sizes.js';

export function warningsOf(status: BatchStatus): string[] {
  const { id, state, lines, input, unreadBytes, plan, queues } = status;
  const lonely = new Set(queues.filter(({ workers }) => workers === 0).map(({ server }) => server));
  const warnings = [...lonely].map(
    (server) => `no worker has server "${plain(server)}"; start one with: bulkhead worker --config FILE`,
  );
  if (state === 'open') {
    warnings.push(
      input === undefined
        ? `${lines} lines are submitted so far; if that submission was ended, it cannot be continued, as it read a stream: bulkhead cancel ${id}`
        : `${lines} lines are submitted so far; if that submission was ended, go on with: bulkhead submit ${quoted(plain(input.path))} --batch ${id}`,
    );
  }
  if (unreadBytes > plan.maxUnreadBytes) {
    warnings.push(
      `workers pause, because ${sizeText(unreadBytes)} of results wait; fetch them with: bulkhead results ${id} --out FILE --follow`,
    );
  }
  return warnings;
}
