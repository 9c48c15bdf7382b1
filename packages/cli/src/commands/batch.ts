/** `bulkhead batch`: opens input and output, runs the engine, reports, and turns the end into an exit status. */
import { type BatchSummary, formatProblem, type LoadedConfig, runBatch } from '@bulkhead/runtime';
import { type CommonOptions, type Context, choice, count, time, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { createProgress, progressKinds } from '../progress.js';
import { type AuditOption, auditOf } from '../record-options.js';
import { onDemand, openConfig, withRuntime } from '../session.js';
import { summaryJson, summaryText } from '../summary-table.js';
import { openInput, openSink, type Sink } from './batch-files.js';
import { mapping } from './batch-map.js';
import { pacing } from './batch-pacing.js';

export interface BatchCommandOptions extends CommonOptions, AuditOption {
  out?: string;
  concurrency?: string;
  ordered?: boolean;
  perServer?: string;
  rate?: string[];
  retry?: string;
  retryUnsafe?: boolean;
  failFast?: boolean;
  resume?: boolean;
  dryRun?: boolean;
  map?: string;
  tool?: string;
  progress: string;
  summary?: string;
}

const MAX_CONCURRENCY = 100_000;

export async function batch(
  inputPath: string,
  options: BatchCommandOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const concurrency = count('--concurrency', options.concurrency, MAX_CONCURRENCY);
  const timeoutMs = time('--timeout', options.timeout);
  const connectTimeoutMs = time('--connect-timeout', options.connectTimeout) ?? timeoutMs;
  const progressKind = choice('--progress', options.progress, progressKinds);
  const summaryKind = choice('--summary', options.summary ?? (output.json ? 'json' : 'text'), [
    'text',
    'json',
  ]);
  if (options.resume === true && options.dryRun === true) {
    throw usageError('--resume and --dry-run do not go together: a dry run calls nothing');
  }
  const audit = auditOf(options);
  const paced = pacing(options);
  const mapped = await mapping(inputPath, options);
  const config = onDemand(await openConfig(options, context));
  const input = await openInput(inputPath);
  const lines = mapped?.lines(input.stream, config) ?? input.stream;
  const ordered = options.ordered ?? false;
  const sink = await openSink({
    out: options.out,
    inputPath,
    stdout: output.stdout,
    resume: options.resume === true ? { ordered, variant: mapped?.variant ?? '' } : undefined,
  });

  const progress = await createProgress(progressKind, output, {
    totalBytes: input.totalBytes,
    sharesTerminal: sink.stream === output.stdout && output.stdout.isTTY === true,
  });
  const summary = await withRuntime(
    config,
    context,
    async (runtime) => {
      try {
        return await runBatch({
          runtime,
          input: lines,
          output: sink.stream,
          ordered,
          failFast: options.failFast ?? false,
          dryRun: options.dryRun ?? false,
          windows: new Map(
            config.servers.map(({ name, spec }) => [name, Math.min(spec.options.window, paced.perServer)]),
          ),
          rates: paced.rates,
          ...(paced.retry === undefined ? {} : { retry: paced.retry }),
          ...(sink.journal === undefined ? {} : { journal: sink.journal }),
          unavailable: new Map(
            config.rejected.map(({ name, problem }) => [
              name,
              { code: 'BAD_CONFIG', message: formatProblem(problem) },
            ]),
          ),
          signal: interrupt.signal,
          onProgress: (state) => progress.show(state),
          ...(concurrency === undefined ? {} : { concurrency }),
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
          ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
        });
      } finally {
        progress.end();
      }
    },
    audit,
  );
  await sink.close(summary.stopped === undefined);
  const closedPipe =
    summary.stopped === 'output-failed' && (summary.cause as NodeJS.ErrnoException)?.code === 'EPIPE';
  if (!closedPipe) {
    if (summaryKind === 'json') output.report(summaryJson(summary));
    else output.report(summaryText(summary).trimEnd());
    if (summary.stopped === 'failed-fast') output.note('stopped at the first line that was not ok');
    if (summary.skipped > 0) output.note(`${summary.skipped} lines had their result from an earlier run`);
    if (summary.stopped !== undefined && sink.journal !== undefined) {
      output.note('the same command line goes on from here');
    }
    if (summary.cause !== undefined) output.note(`error: the ${summary.stopped}: ${summary.cause.message}`);
  }
  return interrupt.exitCode ?? (closedPipe ? exitCode.closedPipe : statusOf(summary, config, sink));
}

function statusOf(summary: BatchSummary, config: LoadedConfig, { journal }: Sink): number {
  if (summary.stopped === 'input-failed' && summary.lines === 0) return exitCode.usage;
  if (summary.stopped !== undefined) return exitCode.failed;
  if (summary.noServerStarted) {
    const held = new Set(
      config.servers.filter(({ spec }) => spec.held !== undefined).map(({ name }) => name),
    );
    const asked = summary.servers.map(({ server }) => server);
    return asked.every((name) => held.has(name)) ? exitCode.approval : exitCode.unreachable;
  }
  const failed = summary.done - summary.ok + (journal?.earlier.failed ?? 0);
  return failed === 0 ? exitCode.ok : exitCode.failed;
}
