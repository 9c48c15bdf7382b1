/** The part of the command line that is about residents: their commands and options, each loaded when it is run. */
import type { Command } from 'commander';
import type { DownOptions } from '../commands/down.js';
import type { EventsOptions } from '../commands/events.js';
import type { LogsOptions } from '../commands/logs.js';
import type { ServerCommandOptions } from '../commands/server-commands.js';
import type { StatusOptions } from '../commands/status.js';
import type { UpOptions } from '../commands/up.js';
import type { CommonOptions, Context } from '../context.js';
import { recordOptions } from '../record-options.js';

type Choose = (run: (context: Context) => Promise<number>, options: CommonOptions) => void;

/** @param common adds the options that every command has. */
export function residentCommands(
  program: Command,
  choose: Choose,
  common: (command: Command) => Command,
): void {
  recordOptions(common(program.command('up')))
    .description('start servers that stay, for the commands of this directory to use')
    .option('-d, --detach', 'in the background; returns when it is up')
    .option(
      '--name <name>',
      'name of the resident (default: one made from the directory and the config files)',
    )
    .option('--idle <time>', 'end when nobody has used it for so long (default: never)')
    .action((options: UpOptions) =>
      choose(async (context) => (await import('../commands/up.js')).up(options, context), options),
    );

  about(program.command('down'))
    .description('end the resident of this directory and its servers')
    .option('--all', 'end every resident of this user')
    .action((options: DownOptions) =>
      choose(async (context) => (await import('../commands/down.js')).down(options, context), options),
    );

  program
    .command('ps')
    .description('list the residents of this user')
    .option('--json', 'data and errors as JSON')
    .action((options: CommonOptions) =>
      choose(async (context) => (await import('../commands/ps.js')).ps(options, context), options),
    );

  about(program.command('status'), '-v, --verbose', 'each tool too, and the tools that were left out')
    .description('what the servers of the resident are doing; exit status 0 when all is well')
    .option('-w, --watch', 'again every second')
    .action((options: StatusOptions) =>
      choose(async (context) => (await import('../commands/status.js')).status(options, context), options),
    );

  about(program.command('top'))
    .description('the same on a live screen, with keys to sort, restart and disable, and the logs')
    .action((options: CommonOptions) =>
      choose(async (context) => (await import('../commands/top.js')).top(options, context), options),
    );

  about(program.command('reload'))
    .description('let the resident look at its config files now')
    .action((options: CommonOptions) =>
      choose(async (context) => (await import('../commands/reload.js')).reload(options, context), options),
    );

  about(program.command('events'))
    .description('what happened in the resident lately')
    .option('-f, --follow', 'and what happens from now on')
    .option('-n, --lines <n>', 'so many of the latest, up to 256 (default: all that are kept, with -f 10)')
    .action((options: EventsOptions) =>
      choose(async (context) => (await import('../commands/events.js')).events(options, context), options),
    );

  about(program.command('logs <server>'))
    .description('what a server wrote to stderr')
    .option('-f, --follow', 'and what it writes from now on')
    .option('-n, --lines <n>', 'so many of the last lines (default: 100)')
    .action((server: string, options: LogsOptions) =>
      choose(
        async (context) => (await import('../commands/logs.js')).logs(server, options, context),
        options,
      ),
    );

  const descriptions = {
    start: 'start servers of the resident',
    stop: 'stop servers until they are needed or started',
    restart: 'restart servers; forgives those that were given up',
    enable: 'undo disable',
    disable: 'stop servers and keep them down until enable',
    drain: 'take no new calls, let those under way end, then stop',
  } as const;
  for (const name of ['start', 'stop', 'restart', 'enable', 'disable', 'drain'] as const) {
    const command = about(program.command(`${name} [servers...]`))
      .description(descriptions[name])
      .option('--all', 'all servers')
      .option(
        '--timeout <time>',
        name === 'drain'
          ? 'wait so long for calls under way (default: 30s)'
          : 'wait so long for them (default: 30s)',
      );
    if (name === 'restart') command.option('--failed', 'those that were given up or wait for a restart');
    command.action((servers: string[], options: ServerCommandOptions) =>
      choose(
        async (context) =>
          (await import('../commands/server-commands.js')).commandServers(name, servers, options, context),
        options,
      ),
    );
  }
}

/** For commands that may use a resident in place of servers of their own. */
export function mayUseResident(command: Command): Command {
  return command
    .option('--resident <name>', 'use the servers of this resident, whatever its configuration')
    .option('--no-resident', 'use servers of this command’s own even when a resident is up');
}

/** Options of a command about a resident. */
function about(
  command: Command,
  verbose = '--verbose',
  says = 'say more on stderr, with stack traces of errors',
): Command {
  return command
    .option(
      '-c, --config <file>',
      'the resident of this config file (repeat for several)',
      (file, files: string[] = []) => [...files, file],
    )
    .option('--resident <name>', 'the resident of this name (default: that of the current directory)')
    .option('--json', 'data and errors as JSON')
    .option(verbose, says);
}
