/** The part of the command line that speaks MCP itself: its commands and options, each loaded when it is run. */
import type { Command } from 'commander';
import type { RecordCommandOptions } from './commands/record.js';
import type { ReplayCommandOptions } from './commands/replay.js';
import type { ServeCommandOptions } from './commands/serve.js';
import type { CommonOptions, Context } from './context.js';

type Choose = (run: (context: Context) => Promise<number>, options: CommonOptions) => void;

/** @param common adds the options that every command has which runs servers. */
export function serveCommands(program: Command, choose: Choose, common: (command: Command) => Command): void {
  common(program.command('serve'))
    .description('be one MCP server with all that the servers of the config offer, over stdio or HTTP')
    .option('--http [port]', 'over HTTP on the loopback interface (default port: any free one)')
    .option('--token-file <file>', 'with --http: what clients must show; made when it is not there')
    .option('--servers <names>', 'these servers only, with commas between them')
    .option('--separator <text>', 'tools are named <server><text><tool> in place of mcp__<server>__<tool>')
    .option('--no-prefix', 'names and addresses as the servers give them, unless two servers share one')
    .option('--timeout <time>', 'the first list waits so long for the servers (default: 10s)')
    .addHelpText(
      'after',
      `
Examples:
  bulkhead serve -c servers.json
  bulkhead serve --http 8931 --token-file ~/.config/bulkhead/serve.token`,
    )
    .action((options: ServeCommandOptions) =>
      choose(async (context) => (await import('./commands/serve.js')).serve(options, context), options),
    );

  program
    .command('record <command...>')
    .description('run another command and write down every message between it and the servers')
    .requiredOption('--out <file>', 'add the messages to this file')
    .option('--json', 'data and errors as JSON')
    .addHelpText(
      'after',
      `
Examples:
  bulkhead record --out bug.jsonl -- call files.read_file path=notes.txt
  bulkhead record --out day.jsonl -- serve`,
    )
    .action((command: string[], options: RecordCommandOptions) =>
      choose(
        async (context) => (await import('./commands/record.js')).record(command, options, context),
        options,
      ),
    );

  program
    .command('replay <file>')
    .description('be an MCP server on stdio that answers as a recorded one did')
    .option('--server <name>', 'whose answers, where several servers were recorded')
    .option('--json', 'data and errors as JSON')
    .action((file: string, options: ReplayCommandOptions) =>
      choose(
        async (context) => (await import('./commands/replay.js')).replay(file, options, context),
        options,
      ),
    );
}
