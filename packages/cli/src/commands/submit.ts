/** `bulkhead submit`: a batch goes into a store and its id to stdout; what a person should know goes to stderr. */
import type { Cluster, SubmitReport } from '@bulkhead/cluster';
import { quoted } from '../cluster/batch-figures.js';
import { LiveLine } from '../cluster/live-line.js';
import { type PlanOptions, planOf } from '../cluster/plan-options.js';
import type { StoreOptions } from '../cluster/store-location.js';
import { tellWarnings, withCluster } from '../cluster/with-cluster.js';
import { type Context, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { Interrupted } from '../interrupt.js';
import { plain } from '../output.js';

export interface SubmitOptions extends StoreOptions, PlanOptions {
  name?: string;
  batch?: string;
}

const TELL_EVERY_MS = 5_000;

export async function submit(inputPath: string, options: SubmitOptions, context: Context): Promise<number> {
  const { output } = context;
  const plan = planOf(options);
  if (inputPath === '-' && process.stdin.isTTY === true) {
    throw usageError('"-" reads the calls from stdin, which is a terminal: pipe them in, or name a file');
  }
  await withCluster(options, context, async (cluster) => {
    tellWarnings(cluster, context);
    const report = await put(cluster, inputPath, { ...options, plan }, context);
    if (report.continued && Object.keys(plan).length > 0) {
      output.note(
        `note: batch "${report.id}" keeps the plan of its first submission; options were not taken`,
      );
    }
    tell(report, context);
    for (const server of await lonely(cluster, report.id)) {
      output.note(`warning: no worker has server "${plain(server)}" right now; its calls wait for one`);
    }
    if (!output.json) {
      output.note(`run them:    bulkhead worker --config FILE`);
      output.note(`look:        bulkhead batch-status ${report.id} --watch`);
      output.note(`fetch them:  bulkhead results ${report.id} --out FILE --follow`);
    }
    await output.data(output.json ? `${JSON.stringify(report)}\n` : `${report.id}\n`);
  });
  return exitCode.ok;
}

async function put(
  cluster: Cluster,
  inputPath: string,
  { name, batch, plan }: SubmitOptions & { plan: ReturnType<typeof planOf> },
  { output, interrupt }: Context,
): Promise<SubmitReport> {
  const { signal } = interrupt;
  const now = { id: '', lines: 0 };
  const live = new LiveLine(output, { everyMs: TELL_EVERY_MS }, () =>
    output.json ? JSON.stringify({ progress: now }) : `batch ${now.id}: ${now.lines} lines submitted`,
  );
  // A stream that nobody writes to would not see the signal.
  const letGo = (): void => void process.stdin.destroy();
  if (inputPath === '-') signal.addEventListener('abort', letGo, { once: true });
  try {
    return await cluster.submit({
      input: inputPath === '-' ? process.stdin : inputPath,
      plan,
      signal,
      ...(name === undefined ? {} : { name }),
      ...(batch === undefined ? {} : { batch }),
      onProgress: (progress) => {
        if (now.id === '' && batch === undefined) live.note(`batch ${progress.id}`);
        Object.assign(now, progress);
      },
    });
  } catch (error) {
    if (!signal.aborted || now.id === '') throw error;
    const goOn =
      inputPath === '-'
        ? `a stream cannot be continued; end what is there with: bulkhead cancel ${now.id}`
        : `go on with: bulkhead submit ${quoted(inputPath)} --batch ${now.id}`;
    live.note(`interrupted: ${now.lines} lines of batch "${now.id}" are submitted and will run; ${goOn}`);
    throw new Interrupted('interrupted');
  } finally {
    live.end();
    signal.removeEventListener('abort', letGo);
    if (inputPath === '-') process.stdin.destroy();
  }
}

function tell({ id, lines, chunks, badInput, continued }: SubmitReport, { output }: Context): void {
  if (output.json) return;
  const bad = badInput === 0 ? '' : `; ${badInput} of them malformed, with a BAD_INPUT result each`;
  output.note(
    `batch ${id}: ${lines} lines in ${chunks} chunks${bad}${continued ? '; what was there already was left' : ''}`,
  );
}

/** Servers of the batch that no worker has. */
async function lonely(cluster: Cluster, id: string): Promise<string[]> {
  const { queues } = await cluster.status(id);
  return [...new Set(queues.filter(({ workers }) => workers === 0).map(({ server }) => server))];
}
