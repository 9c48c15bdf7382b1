/** `bulkhead results`: what came of a submitted batch, into a file or to stdout, and a summary of it for people. */
import type { BatchRecord, Cluster, ResultsReport } from '@bulkhead/cluster';
import { outcomesText, statusOf } from '../cluster/batch-figures.js';
import { LiveLine } from '../cluster/live-line.js';
import { RateMeter } from '../cluster/rate-meter.js';
import { progressLine } from '../cluster/status-text.js';
import type { StoreOptions } from '../cluster/store-location.js';
import { withCluster } from '../cluster/with-cluster.js';
import { type Context, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';

export interface ResultsOptions extends StoreOptions {
  out?: string;
  follow?: boolean;
  keep?: boolean;
}

const TELL_EVERY_MS = 5_000;
const STDOUT = '-';

export async function results(id: string, options: ResultsOptions, context: Context): Promise<number> {
  const { out = STDOUT, keep } = options;
  if (out === STDOUT && keep === true) {
    throw usageError('--keep goes with --out: results that go to stdout stay in the store anyway');
  }
  const { output } = context;
  let report: ResultsReport;
  try {
    report = await withCluster(options, context, (cluster) => collect(cluster, id, options, context));
  } catch (error) {
    // Whoever read has enough.
    if (output.closed.aborted) return exitCode.closedPipe;
    throw error;
  }
  if (output.closed.aborted && !report.complete) return exitCode.closedPipe;
  if (output.json) output.report(JSON.stringify({ summary: summaryOf(report) }));
  else tell(report, out, context);
  return report.complete ? statusOf(report.batch) : exitCode.unreachable;
}

async function collect(
  cluster: Cluster,
  id: string,
  { out = STDOUT, follow = false, keep = false }: ResultsOptions,
  { output, interrupt }: Context,
): Promise<ResultsReport> {
  const toStdout = out === STDOUT;
  let batch: BatchRecord | undefined;
  let have = 0;
  const rate = new RateMeter();
  const sharesTerminal = toStdout && output.stdout.isTTY === true;
  const live = new LiveLine(output, { everyMs: TELL_EVERY_MS, sharesTerminal }, () => {
    if (output.json)
      return JSON.stringify({ progress: { have, lines: batch?.lines, answered: batch?.answered } });
    if (batch === undefined) return 'waiting for results';
    const perSecond = rate.look(batch.answered, performance.now());
    return `${have} collected  ${progressLine({ batch, nowMs: Date.now(), perSecond })}`;
  });
  try {
    return await cluster.results(id, {
      output: toStdout ? output.stdout : out,
      follow,
      keep,
      signal: AbortSignal.any([interrupt.signal, output.closed]),
      onProgress: (progress) => {
        ({ batch, have } = progress);
      },
    });
  } finally {
    live.end();
  }
}

function tell(report: ResultsReport, out: string, { output, interrupt }: Context): void {
  const { written, have, batch, complete, elsewhere } = report;
  const where = out === STDOUT ? '' : ` to ${plain(out)}`;
  output.note(`${written} lines written${where}${have > written ? `, which has ${have} now` : ''}`);
  output.note(`batch ${batch.id}: ${batch.answered} of ${batch.lines} lines done${counts(batch)}`);
  if (elsewhere !== undefined) {
    output.note(`${elsewhere.lines} lines were collected before, in ${plain(elsewhere.to)}`);
  } else if (!complete) {
    const again = `bulkhead results ${batch.id}${out === STDOUT ? '' : ` --out ${plain(out)}`} --follow`;
    output.note(
      `${interrupt.signal.aborted ? 'interrupted' : 'there is more to come'}; go on with: ${again}`,
    );
  }
}

function counts(batch: BatchRecord): string {
  const text = outcomesText(batch);
  return text === '' ? '' : `: ${text}`;
}

function summaryOf({ written, have, complete, elsewhere, batch }: ResultsReport): Record<string, unknown> {
  const { id, state, lines, answered, outcomes } = batch;
  return { id, state, lines, answered, outcomes, written, have, complete, elsewhere: elsewhere ?? null };
}
