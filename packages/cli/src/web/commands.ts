/** The part of the command line that is about the web page. */
import type { Command } from 'commander';
import type { WebOptions } from '../commands/web.js';
import type { CommonOptions, Context } from '../context.js';
import { mayUseResident } from '../resident/commands.js';

type Choose = (run: (context: Context) => Promise<number>, options: CommonOptions) => void;

/** @param common adds the options that every command has which runs servers. */
export function webCommand(program: Command, choose: Choose, common: (command: Command) => Command): void {
  mayUseResident(common(program.command('web')))
    .description('show the servers in a browser: a page of this machine alone, until Ctrl-C')
    .option('--port <n>', 'listen on this port of 127.0.0.1 (default: a free one)')
    .option('--open', 'open it in a browser')
    .addHelpText(
      'after',
      `
Examples:
  bulkhead web --open
  bulkhead web --resident my-agent --port 7300`,
    )
    .action((options: WebOptions) =>
      choose(async (context) => (await import('../commands/web.js')).web(options, context), options),
    );
}
