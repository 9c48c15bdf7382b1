/** What the record of a batch amounts to, in words and numbers of people. Pure. */
import type { BatchRecord } from '@bulkhead/cluster';
import { outcomes } from '@bulkhead/workers';
import { exitCode } from '../exit-codes.js';

type Counted = Pick<BatchRecord, 'state' | 'lines' | 'answered' | 'outcomes'>;

/** All lines are in and have their result. */
export function isDone({ state, lines, answered }: Counted): boolean {
  return state !== 'open' && answered >= lines;
}

export function notOk({ answered, outcomes: counts }: Counted): number {
  return answered - (counts.ok ?? 0);
}

export function stateWord(batch: Counted): 'submitting' | 'running' | 'done' | 'cancelling' | 'cancelled' {
  if (batch.state === 'cancelled') return isDone(batch) ? 'cancelled' : 'cancelling';
  if (isDone(batch)) return 'done';
  return batch.state === 'open' ? 'submitting' : 'running';
}

/** `90 ok, 8 tool_error, 2 timeout`; nothing for no lines. */
export function outcomesText({ outcomes: counts }: Counted): string {
  return outcomes.flatMap((outcome) => (counts[outcome] ? [`${counts[outcome]} ${outcome}`] : [])).join(', ');
}

/** Exit status: every line `ok`, some line not, or not done yet. */
export function statusOf(batch: Counted): number {
  if (!isDone(batch)) return exitCode.unreachable;
  return notOk(batch) === 0 ? exitCode.ok : exitCode.failed;
}

/** A file name as a person types it in a command. */
export function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
