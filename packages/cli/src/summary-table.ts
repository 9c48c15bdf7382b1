/** The end of a batch for people: one table of servers and one sentence. */
import type { BatchSummary } from '@bulkhead/runtime';
import { outcomes } from '@bulkhead/workers';
import { plain } from './output.js';
import { table } from './table.js';

export function summaryText(summary: BatchSummary): string {
  const { servers, done, ok, badInput, notStarted, tookMs } = summary;
  const perSecond = tookMs > 0 ? Math.round((done / tookMs) * 1_000) : 0;
  const parts = [
    `${done} ${done === 1 ? 'line' : 'lines'} done in ${duration(tookMs)} (${perSecond}/s): ${ok} ok`,
  ];
  for (const outcome of outcomes) {
    const count = outcome === 'ok' ? 0 : (summary.outcomes[outcome] ?? 0);
    if (count > 0) parts.push(`${count} ${outcome}`);
  }
  const extra = [
    badInput > 0 ? `${badInput} of the rejected are malformed input` : '',
    notStarted > 0 ? `${notStarted} read but not started` : '',
  ].filter((text) => text !== '');
  const sentence = [parts.join(', '), ...extra].join('; ');
  if (servers.length === 0) return `${sentence}\n`;
  const head = ['server', 'calls', 'ok', 'not ok', 'p50 ms', 'p95 ms', 'p99 ms', 'restarts', 'outcomes'];
  const rows = servers.map(({ server, calls, outcomes: counts, latency, restarts }) => [
    plain(server),
    String(calls),
    String(counts.ok ?? 0),
    String(calls - (counts.ok ?? 0)),
    milliseconds(latency?.p50),
    milliseconds(latency?.p95),
    milliseconds(latency?.p99),
    String(restarts),
    outcomes
      .flatMap((outcome) => (outcome !== 'ok' && counts[outcome] ? [`${outcome} ${counts[outcome]}`] : []))
      .join(', '),
  ]);
  return `${table(head, rows, { right: [1, 2, 3, 4, 5, 6, 7] })}${sentence}\n`;
}

/** One line of JSON; the members of {@link BatchSummary}. */
export function summaryJson({ cause, ...summary }: BatchSummary): string {
  return JSON.stringify({
    summary: { ...summary, ...(cause === undefined ? {} : { cause: cause.message }) },
  });
}

function milliseconds(value: number | undefined): string {
  if (value === undefined) return '-';
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);
}

function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
