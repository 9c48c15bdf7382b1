/**
 * The command line: which commands and options there are, and what becomes of their errors. Each command is loaded
 * when it is run, so that `--help` stays cheap.
 */
import { Command, CommanderError, Option } from 'commander';
import { clusterCommands, clusterNumbers, missingClusterCommands } from './cluster-commands.js';
import type { BatchCommandOptions } from './commands/batch.js';
import type { CallCommandOptions } from './commands/call.js';
import { configCommands } from './config-commands.js';
import type { CommonOptions, Context } from './context.js';
import { exitCode } from './exit-codes.js';
import { auditOption } from './record-options.js';
import { mayUseResident, residentCommands } from './resident/commands.js';
import { serveCommands } from './serve-commands.js';
import { version } from './version.js';
import { webCommand } from './web/commands.js';

type Run = (context: Context) => Promise<number>;

/** Runs one command line to its end. */
export async function main(args: readonly string[]): Promise<void> {
  let chosen: Run | undefined;
  let shown: CommonOptions = {};
  const cluster = await clusterNumbers();
  const program = build((run, options) => {
    chosen = run;
    shown = options;
  }, cluster);
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    await usageFailed(error, args);
    return;
  }
  if (chosen !== undefined) {
    const { execute } = await import('./execute.js');
    await execute(chosen, shown);
  }
}

function build(
  choose: (run: Run, options: CommonOptions) => void,
  cluster: Awaited<ReturnType<typeof clusterNumbers>>,
): Command {
  const program = new Command('bulkhead')
    .description('Calls tools of MCP servers, one or a million, each server in its own compartment.')
    .version(version(), '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `
Times are 500ms, 30s or 2m; a bare number is milliseconds.
Exit status: 0 every call ok · 1 usage or config error, nothing was called · 3 approval needed ·
4 unreachable or timed out · 5 a tool failed or does not exist · 130/143 interrupted.`,
    );

  auditOption(common(program.command('batch <calls.jsonl>')))
    .description('run every line of a JSON Lines file (- for stdin) as a tool call')
    .option('--out <file>', 'write the results to a file instead of stdout')
    .option('-j, --concurrency <n>', 'calls in flight over all servers (default: 64)')
    .option('--timeout <time>', 'limit of one call (default: that of its server)')
    .option(
      '--connect-timeout <time>',
      'wait for a server to become ready (default: --timeout, or the server’s own)',
    )
    .option('--ordered', 'write results in the order of the input')
    .option('--per-server <n>', 'calls in flight per server (default: its window, 64)')
    .option(
      '--rate <rate>',
      'calls a second, 10/s (or /m, /h) for each server, search=10/s for one (repeat)',
      collect,
    )
    .option('--retry <n>', 'further tries of calls that did not run or are idempotent (default: 0)')
    .option('--retry-unsafe', 'with --retry: also of calls that may have run')
    .option('--fail-fast', 'stop at the first line that is not ok')
    .option('--resume', 'with --out: go on where a run of the same command line was killed')
    .option('--dry-run', 'check the arguments of every line, call nothing')
    .option('--map <template>', 'arguments made from columns of CSV or JSON Lines: JSON, or a file of it')
    .option('--tool <server.tool>', 'with --map: the tool to call')
    .addOption(new Option('--progress <kind>', 'auto, bar, plain, ndjson or none').default('auto'))
    .addOption(
      new Option('--summary <kind>', 'text or json, on stderr (default: "text", with --json "json")'),
    )
    .addHelpText(
      'after',
      `
Examples:
  bulkhead batch calls.jsonl --out results.jsonl --resume
  bulkhead batch calls.jsonl --rate search=10/s --retry 3 --progress ndjson
  bulkhead batch people.csv --map '{"text": "{{name}}"}' --tool notes.add --dry-run`,
    )
    .action((input: string, options: BatchCommandOptions) => {
      choose(
        async (context) => (await import('./commands/batch.js')).batch(input, options, context),
        options,
      );
    });

  mayUseResident(common(program.command('tools [server]')))
    .description('list the tools of all servers, or of one')
    .option('--timeout <time>', 'wait for the servers to become ready (default: 30s)')
    .action((server: string | undefined, options: CommonOptions) => {
      choose(
        async (context) => (await import('./commands/tools.js')).tools(server, options, context),
        options,
      );
    });

  auditOption(mayUseResident(common(program.command('call <server.tool> [arguments...]'))))
    .description('call one tool; arguments are key=value, key:=json or key=@file')
    .option('--args <json>', 'arguments as JSON, @file, or - for stdin')
    .option('--no-validate', 'send arguments that do not fit the tool’s input schema')
    .option('--timeout <time>', 'one deadline for start, handshake and call (default: those of the server)')
    .option('--connect-timeout <time>', 'limit of start and handshake alone')
    .action((target: string, pairs: string[], options: CallCommandOptions) => {
      choose(
        async (context) =>
          (await import('./resident/warm-call.js')).warmCall(target, pairs, options, context),
        options,
      );
    });
  configCommands(program, choose, common);
  residentCommands(program, choose, common);
  webCommand(program, choose, common);
  serveCommands(program, choose, common);
  if (cluster === undefined) missingClusterCommands(program, choose);
  else clusterCommands(program, choose, common, cluster);
  return program;
}

function common(command: Command): Command {
  return command
    .option('-c, --config <file>', 'config file (repeat for several; later ones win)', collect)
    .option('--trust-project', 'run servers of the project’s own files (.mcp.json) without a stored approval')
    .option('--json', 'data and errors as JSON')
    .option('--verbose', 'say more on stderr, with stack traces of errors');
}

function collect(file: string, files: string[] = []): string[] {
  return [...files, file];
}

/** Help asked for is data; everything else that commander stops for is a usage error. */
async function usageFailed(error: CommanderError, args: readonly string[]): Promise<void> {
  if (error.exitCode === 0) return;
  process.exitCode = exitCode.usage;
  if (error.code === 'commander.help') return;
  const message = error.message.replace(/^error: /, '');
  const text = args.includes('--json')
    ? JSON.stringify({ error: { code: 'BAD_INPUT', message } })
    : `error: ${message}\nbulkhead --help lists commands and options.`;
  process.stderr.write(`${text}\n`);
}
