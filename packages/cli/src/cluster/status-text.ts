/** How far a batch is, for people: a bar, its outcomes, its chunks, who works, and what waits for a person. Pure. */
import type { BatchRecord, BatchStatus } from '@bulkhead/cluster';
import { plain } from '../output.js';
import { age } from '../resident/figures.js';
import { table } from '../table.js';
import { isDone, outcomesText, stateWord } from './batch-figures.js';
import { sizeText } from './sizes.js';
import { warningsOf } from './status-warnings.js';

const BAR_CHARS = 24;
const MS_PER_SECOND = 1_000;
/** Below it a rate shows a decimal. */
const SMALL = 10;

export interface Look {
  nowMs: number;
  /** Lines that got their result each second lately; undefined: only the average is known. */
  perSecond: number | undefined;
}

export function statusText(status: BatchStatus, look: Look): string {
  const { id, name, createdAt, unreadBytes, collected } = status;
  const since = age(Math.max(0, look.nowMs - createdAt));
  const lines = [
    `batch ${id}  ${plain(name)}  ${stateWord(status)}  submitted ${since} ago`,
    progressLine({ batch: status, ...look }),
  ];
  const outcomes = outcomesText(status);
  if (outcomes !== '') lines.push(`outcomes: ${outcomes}`);
  if (unreadBytes > 0) lines.push(`results not collected: ${sizeText(unreadBytes)}`);
  if (collected !== undefined) lines.push(`results collected: ${collected.lines} in ${plain(collected.to)}`);
  const parts = [`${lines.join('\n')}\n`];
  if (!status.finished) {
    if (status.queues.length > 0) parts.push(queueTable(status));
    parts.push(status.workers.length > 0 ? workerTable(status, look) : 'no worker runs\n');
    parts.push(...warningsOf(status).map((warning) => `warning: ${warning}\n`));
  }
  return parts.join('');
}

/** `[####----] 41%  41200 of 100000 lines  312/s  about 3m08s left`. */
export function progressLine({ batch, nowMs, perSecond }: Look & { batch: BatchRecord }): string {
  const { lines, answered, createdAt, state } = batch;
  const share = lines === 0 ? (state === 'open' ? 0 : 1) : Math.min(1, answered / lines);
  const filled = Math.floor(share * BAR_CHARS);
  const rate = perSecond ?? (answered / Math.max(1, nowMs - createdAt)) * MS_PER_SECOND;
  const parts = [
    `[${'#'.repeat(filled)}${'-'.repeat(BAR_CHARS - filled)}] ${Math.floor(share * 100)}%`,
    `${answered} of ${lines} lines${state === 'open' ? ' so far' : ''}`,
  ];
  if (!isDone(batch)) {
    parts.push(`${rate < SMALL ? rate.toFixed(1) : Math.round(rate)}/s`);
    // An average of times without workers would promise years.
    if (state === 'sealed' && perSecond !== undefined && perSecond > 0) {
      parts.push(`about ${age(((lines - answered) / perSecond) * MS_PER_SECOND)} left`);
    }
  }
  return parts.join('  ');
}

/** Chunks of other batches wait in the same queues. */
function queueTable({ queues }: BatchStatus): string {
  const rows = queues.map(({ server, shard, waiting, running, delayed, workers }) => [
    shard === undefined ? plain(server) : `${plain(server)} (shard ${shard})`,
    ...[waiting, running, delayed, workers].map(String),
  ]);
  return table(['chunks for', 'waiting', 'running', 'delayed', 'workers'], rows, { right: [1, 2, 3, 4] });
}

function workerTable({ workers }: BatchStatus, { nowMs }: Look): string {
  const rows = workers.map(({ host, pid, servers, inFlight, chunks, done, startedAt }) => [
    `${plain(host)}:${pid}`,
    age(Math.max(0, nowMs - startedAt)),
    ...[inFlight, chunks, done].map(String),
    servers.map(plain).join(', '),
  ]);
  const head = ['worker', 'up', 'in flight', 'chunks', 'done', 'servers'];
  return table(head, rows, { right: [1, 2, 3, 4] });
}
