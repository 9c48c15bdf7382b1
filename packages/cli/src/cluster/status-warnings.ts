/** What holds a batch up that a person can change, with the command that changes it. Pure. */
import type { BatchStatus } from '@bulkhead/cluster';
import { plain } from '../output.js';
import { quoted } from './batch-figures.js';
import { sizeText } from './sizes.js';

export function warningsOf(status: BatchStatus): string[] {
  const { id, state, submitting, lines, input, unreadBytes, plan, queues } = status;
  const lonely = new Map(
    queues.filter(({ workers }) => workers === 0).map((queue) => [queue.server, queue.unusable] as const),
  );
  const warnings = [...lonely].map(([server, unusable]) => lonelyText(server, unusable));
  if (state === 'open' && !submitting) {
    warnings.push(
      input === undefined
        ? `its submission ended after ${lines} lines, and cannot be continued, as it read a stream: bulkhead cancel ${id}`
        : `its submission ended after ${lines} lines; go on with: bulkhead submit ${quoted(plain(input.path))} --batch ${id}`,
    );
  }
  if (unreadBytes > plan.maxUnreadBytes) {
    warnings.push(
      `workers pause, because ${sizeText(unreadBytes)} of results wait; fetch them with: bulkhead results ${id} --out FILE --follow`,
    );
  }
  return warnings;
}

function lonelyText(server: string, unusable: BatchStatus['queues'][number]['unusable']): string {
  const name = plain(server);
  const [first] = unusable;
  if (first === undefined)
    return `no worker has server "${name}"; start one with: bulkhead worker --config FILE`;
  const { worker, reason } = first;
  const others = unusable.length === 1 ? '' : ` (and ${unusable.length - 1} more)`;
  return `no worker can use server "${name}" now; ${plain(worker.host)}:${worker.pid}${others}: ${plain(reason)}`;
}
