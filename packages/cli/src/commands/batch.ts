/** `bulkhead batch`: opens input and output, runs the engine, reports, and turns the end into an exit status. */
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type BatchSummary, formatProblem, type LoadedConfig, runBatch } from '@bulkhead/runtime';
import { type CommonOptions, type Context, choice, count, time, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { createProgress, progressKinds } from '../progress.js';
import { onDemand, openConfig, withRuntime } from '../session.js';
import { summaryJson, summaryText } from '../summary-table.js';

export interface BatchCommandOptions extends CommonOptions {
  out?: string;
  concurrency?: string;
  ordered?: boolean;
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
  const config = onDemand(await openConfig(options, context));
  const input = await openInput(inputPath);
  const sink = await openSink(options.out, inputPath, output.stdout);

  const progress = await createProgress(progressKind, output, {
    totalBytes: input.totalBytes,
    sharesTerminal: sink.stream === output.stdout && output.stdout.isTTY === true,
  });
  const summary = await withRuntime(config, context, async (runtime) => {
    try {
      return await runBatch({
        runtime,
        input: input.stream,
        output: sink.stream,
        ordered: options.ordered ?? false,
        windows: new Map(config.servers.map(({ name, spec }) => [name, spec.options.window])),
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
  });
  await sink.close();
  const closedPipe =
    summary.stopped === 'output-failed' && (summary.cause as NodeJS.ErrnoException)?.code === 'EPIPE';
  if (!closedPipe) {
    if (summaryKind === 'json') output.report(summaryJson(summary));
    else output.report(summaryText(summary).trimEnd());
    if (summary.cause !== undefined) output.note(`error: the ${summary.stopped}: ${summary.cause.message}`);
  }
  return interrupt.exitCode ?? (closedPipe ? exitCode.closedPipe : statusOf(summary, config));
}

function statusOf(summary: BatchSummary, config: LoadedConfig): number {
  if (summary.stopped === 'input-failed' && summary.lines === 0) return exitCode.usage;
  if (summary.stopped !== undefined) return exitCode.failed;
  if (summary.noServerStarted) {
    const held = new Set(
      config.servers.filter(({ spec }) => spec.held !== undefined).map(({ name }) => name),
    );
    const asked = summary.servers.map(({ server }) => server);
    return asked.every((name) => held.has(name)) ? exitCode.approval : exitCode.unreachable;
  }
  return summary.ok === summary.done ? exitCode.ok : exitCode.failed;
}

/** Stdin is read only for an explicit `-`. */
async function openInput(path: string): Promise<{ stream: Readable; totalBytes: number | undefined }> {
  if (path === '-') return { stream: process.stdin, totalBytes: undefined };
  const info = await stat(path).catch((error: Error) => {
    throw usageError(`the input cannot be read: ${error.message}`);
  });
  if (info.isDirectory()) throw usageError(`the input "${path}" is a directory, not a JSON Lines file`);
  const stream = createReadStream(path);
  await opened(stream, 'the input cannot be read');
  return { stream, totalBytes: info.isFile() ? info.size : undefined };
}

async function openSink(
  path: string | undefined,
  inputPath: string,
  stdout: Writable,
): Promise<{ stream: Writable; close: () => Promise<void> }> {
  if (path === undefined || path === '-') return { stream: stdout, close: async () => {} };
  const [from, to] = await Promise.all([inputPath, path].map((file) => stat(file).catch(() => undefined)));
  if (
    inputPath !== '-' &&
    from !== undefined &&
    to !== undefined &&
    from.ino === to.ino &&
    from.dev === to.dev
  ) {
    throw usageError(`--out "${path}" is the input file; writing would destroy it`);
  }
  const stream = createWriteStream(path);
  await opened(stream, `--out "${path}" cannot be written`);
  const close = async (): Promise<void> => {
    if (stream.destroyed) return;
    stream.end();
    await finished(stream).catch(() => {});
  };
  return { stream, close };
}

function opened(stream: Readable | Writable, failure: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(usageError(`${failure}: ${error.message}`));
    stream.once('error', failed);
    stream.once('open', () => {
      stream.off('error', failed);
      resolve();
    });
  });
}
