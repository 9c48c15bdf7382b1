/** The part of the command line that spreads batches over many machines: its commands and options, each loaded when it is run. */
import type { clusterDefaults } from '@bulkhead/cluster/defaults';
import { BulkheadError } from '@bulkhead/workers/errors';
import type { Command } from 'commander';
import type { StoreOptions } from './cluster/store-location.js';
import type { StatusOptions } from './commands/batch-status.js';
import type { CancelOptions } from './commands/cancel.js';
import type { ResultsOptions } from './commands/results.js';
import type { SubmitOptions } from './commands/submit.js';
import type { WorkerOptions } from './commands/worker.js';
import type { CommonOptions, Context } from './context.js';
import { recordOptions } from './record-options.js';

type Choose = (run: (context: Context) => Promise<number>, options: CommonOptions) => void;

const MEBIBYTE = 1024 * 1024;
const MS_PER_SECOND = 1_000;

const NAMES = ['submit', 'worker', 'batches', 'batch-status', 'results', 'cancel'];

/** The default numbers that `--help` shows; undefined where the package is not installed: most people do not need it. */
export async function clusterNumbers(): Promise<typeof clusterDefaults | undefined> {
  const found = await import('@bulkhead/cluster/defaults').catch(() => undefined);
  return found?.clusterDefaults;
}

/** The same commands where the package is missing: they say what to install. */
export function missingClusterCommands(program: Command, choose: Choose): void {
  for (const name of NAMES) {
    program
      .command(`${name} [arguments...]`)
      .description('batches over many machines; needs the package @bulkhead/cluster')
      .allowUnknownOption()
      .action(() =>
        choose(() => {
          const message =
            `"bulkhead ${name}" needs the package @bulkhead/cluster, which brings the queue; ` +
            'install it beside this one: npm install -g @bulkhead/cli @bulkhead/cluster';
          throw new BulkheadError('UNSUPPORTED', message);
        }, {}),
      );
  }
}

/** @param common adds the options that every command has which runs servers. */
export function clusterCommands(
  program: Command,
  choose: Choose,
  common: (command: Command) => Command,
  numbers: typeof clusterDefaults,
): void {
  const { priority, attempts, chunkLines, shards, maxUnreadBytes, workerCalls, stopGraceMs } = numbers;
  looking(program.command('submit <calls.jsonl>'))
    .description('put a batch (- for stdin) into a store, for the workers of many machines; prints its id')
    .option('--name <text>', 'what the batch is called (default: the name of the file)')
    .option(
      '--batch <id>',
      'id of the batch (default: a new one); with the id of one that is there, go on with the same file',
    )
    .option('--priority <n>', `smaller numbers first, 0 before all others (default: ${priority})`)
    .option('--attempts <n>', `tries of one line in all, where another is safe (default: ${attempts})`)
    .option('--timeout <time>', 'limit of one call (default: that of its server)')
    .option(
      '--per-server <n>',
      'calls in flight over the whole fleet, 8 for each server, search=8 for one (repeat)',
      collect,
    )
    .option(
      '--rate <rate>',
      'calls a second over the whole fleet, 10/s (or /m, /h) for each server, search=10/s for one (repeat)',
      collect,
    )
    .option('--chunk <n>', `lines that a worker takes at once (default: ${chunkLines})`)
    .option('--shards <n>', `queues per server for lines with an affinity (default: ${shards})`)
    .option(
      '--max-unread <size>',
      `workers pause when so many results wait to be collected (default: ${maxUnreadBytes / MEBIBYTE}MB)`,
    )
    .addHelpText(
      'after',
      `
Examples:
  bulkhead submit calls.jsonl --redis redis://queue.internal:6379 --rate search=50/s
  generate-calls | BULKHEAD_REDIS=redis://queue.internal bulkhead submit -`,
    )
    .action((input: string, options: SubmitOptions) =>
      choose(
        async (context) => (await import('./commands/submit.js')).submit(input, options, context),
        options,
      ),
    );

  recordOptions(store(common(program.command('worker'))))
    .description('run calls of submitted batches on the servers of the config, until it is told to end')
    .option('--servers <names>', 'these servers only, with commas between them')
    .option('-j, --concurrency <n>', `calls in flight on this worker (default: ${workerCalls})`)
    .option('--exit-when-idle <time>', 'end when there was nothing to do for so long (default: never)')
    .addHelpText(
      'after',
      `
The first signal gives calls in flight ${stopGraceMs / MS_PER_SECOND} s to end and the rest back to the queues; the second ends at once.

Examples:
  bulkhead worker --redis redis://queue.internal:6379 --config .mcp.json
  bulkhead worker --config .mcp.json --servers search,files -j 16 --exit-when-idle 5m`,
    )
    .action((options: WorkerOptions) =>
      choose(async (context) => (await import('./commands/worker.js')).worker(options, context), options),
    );

  looking(program.command('batches'))
    .description('list the batches in a store')
    .action((options: StoreOptions) =>
      choose(async (context) => (await import('./commands/batches.js')).batches(options, context), options),
    );

  looking(program.command('batch-status <id>'))
    .description('how far a submitted batch is, who works on it, and what it waits for')
    .option('-w, --watch', 'again every second, until it is done')
    .action((id: string, options: StatusOptions) =>
      choose(
        async (context) => (await import('./commands/batch-status.js')).batchStatus(id, options, context),
        options,
      ),
    );

  looking(program.command('results <id>'))
    .description('write the results of a submitted batch, one line of JSON each')
    .option('--out <file>', 'add them to a file in place of stdout; they leave the store once they are safe')
    .option('--follow', 'wait for more until every line has its result')
    .option('--keep', 'with --out: leave them in the store as well')
    .addHelpText(
      'after',
      `
Examples:
  bulkhead results b20261130-115830-k3f9x2 --out results.jsonl --follow
  bulkhead results b20261130-115830-k3f9x2 | jq -c 'select(.isError)'`,
    )
    .action((id: string, options: ResultsOptions) =>
      choose(
        async (context) => (await import('./commands/results.js')).results(id, options, context),
        options,
      ),
    );

  looking(program.command('cancel <id>'))
    .description('start no further call of a submitted batch; its other lines end as cancelled')
    .option('--remove', 'and forget it with all its results')
    .action((id: string, options: CancelOptions) =>
      choose(async (context) => (await import('./commands/cancel.js')).cancel(id, options, context), options),
    );
}

/** Options of a command that runs no server. */
function looking(command: Command): Command {
  return store(command)
    .option('--json', 'data and errors as JSON')
    .option('--verbose', 'say more on stderr, with stack traces of errors');
}

function store(command: Command): Command {
  return command
    .option('--redis <url>', 'the store: Redis or Valkey (default: $BULKHEAD_REDIS, else $REDIS_URL)')
    .option('--postgres <url>', 'the store: PostgreSQL in place of Redis (default: $BULKHEAD_POSTGRES)');
}

function collect(text: string, texts: string[] = []): string[] {
  return [...texts, text];
}
