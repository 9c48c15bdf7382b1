/** The part of the command line that edits and inspects the configuration: its commands and options, each loaded when it is run. */
import { type Command, Option } from 'commander';
import type { AddCommandOptions } from './commands/add.js';
import type { ApproveCommandOptions } from './commands/approve.js';
import type { ImportCommandOptions } from './commands/import.js';
import type { ListCommandOptions } from './commands/list.js';
import type { LoginCommandOptions } from './commands/login.js';
import type { TargetOptions } from './config-target.js';
import type { CommonOptions, Context } from './context.js';
import { mayUseResident } from './resident/commands.js';

type Choose = (run: (context: Context) => Promise<number>, options: CommonOptions) => void;

/** Words of the runtime, which is too large to be loaded for a line of help. */
export const scopes = ['user', 'project', 'local'] as const;
export const hosts = ['claude', 'claude-desktop', 'cursor', 'vscode', 'codex', 'gemini'] as const;

/** @param common adds the options that every command has which runs servers. */
export function configCommands(
  program: Command,
  choose: Choose,
  common: (command: Command) => Command,
): void {
  writing(program.command('add <name> [command...]'), 'local')
    .description('add a server to a config file: a program behind --, or a URL')
    .option('--url <url>', 'a remote server in place of a program')
    .option(
      '-e, --env <name=value>',
      'variable of the program (repeat; NAME alone passes its value on)',
      collect,
    )
    .option('-H, --header <header>', 'header of a remote server, "Name: value" (repeat)', collect)
    .option('--transport <type>', 'stdio, http or sse (default: http with --url, else stdio)')
    .option('--cwd <directory>', 'working directory of the program (default: that of the file)')
    .option('--replace', 'write over a server of that name')
    .addHelpText(
      'after',
      `
Examples:
  bulkhead add files -- npx -y @modelcontextprotocol/server-filesystem .
  bulkhead add tickets --url https://tickets.example/mcp -H 'Authorization: Bearer \${TICKETS_TOKEN}'
  bulkhead add db --scope project -e DATABASE_URL -- node db-server.js`,
    )
    .action((name: string, command: string[], options: AddCommandOptions) =>
      choose(
        async (context) => (await import('./commands/add.js')).add(name, command, options, context),
        options,
      ),
    );

  writing(program.command('remove <name>'), 'the one file that has it')
    .description('remove a server from a config file')
    .action((name: string, options: TargetOptions) =>
      choose(
        async (context) => (await import('./commands/remove.js')).remove(name, options, context),
        options,
      ),
    );

  common(program.command('list'))
    .description('list the servers of the config, without connecting')
    .option('--check', 'start each that may run and show what became of it')
    .option('--timeout <time>', 'with --check: wait for the servers (default: those of the servers)')
    .action((options: ListCommandOptions) =>
      choose(async (context) => (await import('./commands/list.js')).list(options, context), options),
    );

  reading(program.command('validate [files...]'))
    .description('show every mistake in config files (default: those that would be read here)')
    .action((files: string[], options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/validate.js')).validateFiles(files, options, context),
        options,
      ),
    );

  writing(program.command('import'), 'user')
    .description('take over the servers of another host')
    .addOption(new Option('--from <host>', `whose servers: ${hosts.join(', ')}`).choices(hosts))
    .option('--file <file>', 'read this file in place of the host’s own places')
    .option('--dry-run', 'show what would be taken, write nothing')
    .option('--replace', 'write over servers of the same name')
    .action((options: ImportCommandOptions) =>
      choose(
        async (context) => (await import('./commands/import.js')).importServers(options, context),
        options,
      ),
    );

  deciding(program.command('approve [name]'))
    .description('allow servers of this project to run, one after the other or one')
    .option('--all', 'every server that waits')
    .option('-y, --yes', 'without a question, where nobody can be asked')
    .action((name: string | undefined, options: ApproveCommandOptions) =>
      choose(
        async (context) => (await import('./commands/approve.js')).approve(name, options, context),
        options,
      ),
    );

  deciding(program.command('revoke [name]'))
    .description('take back the approval of a server of this project')
    .option('--all', 'every approval of this project')
    .action((name: string | undefined, options: ApproveCommandOptions) =>
      choose(
        async (context) => (await import('./commands/approve.js')).revoke(name, options, context),
        options,
      ),
    );

  common(program.command('doctor [server]'))
    .description('try each server, or one, alone: what works, what does not, what to do')
    .option('--timeout <time>', 'wait for a server (default: that of the server)')
    .action((server: string | undefined, options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/doctor.js')).doctor(server, options, context),
        options,
      ),
    );

  offers(program, choose, common);

  common(program.command('login <server>'))
    .description('sign in to a remote server in a browser')
    .option('--no-browser', 'only print the address')
    .option('--timeout <time>', 'wait for the person (default: 6m)')
    .action((server: string, options: LoginCommandOptions) =>
      choose(
        async (context) => (await import('./commands/login.js')).login(server, options, context),
        options,
      ),
    );

  common(program.command('logout <server>'))
    .description('forget the sign-in to a remote server')
    .action((server: string, options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/login.js')).logout(server, options, context),
        options,
      ),
    );

  program
    .command('completion <shell>')
    .description('print a script that completes this program’s words: bash, zsh or fish')
    .addHelpText(
      'after',
      `
Examples:
  source <(bulkhead completion bash)
  bulkhead completion fish > ~/.config/fish/completions/bulkhead.fish`,
    )
    .action((shell: string) =>
      choose(async ({ output }) => {
        const { completionScript } = await import('./commands/completion.js');
        await output.data(completionScript(shell, program));
        return 0;
      }, {}),
    );
}

/** What servers offer besides calls. */
function offers(program: Command, choose: Choose, common: (command: Command) => Command): void {
  const waiting = (command: Command): Command =>
    mayUseResident(common(command)).option(
      '--timeout <time>',
      'wait for the servers to become ready (default: 30s)',
    );

  waiting(program.command('describe <server.tool>'))
    .description('show one tool with its arguments')
    .action((target: string, options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/describe.js')).describe(target, options, context),
        options,
      ),
    );

  waiting(program.command('search <words...>'))
    .description('find tools by words, the best first')
    .option('--limit <n>', 'so many at most (default: 10)')
    .action((words: string[], options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/search.js')).search(words, options, context),
        options,
      ),
    );

  const resources = program.command('resources').description('what servers offer to read');
  waiting(resources.command('list [server]'))
    .description('list the resources and resource templates of all servers, or of one')
    .action((server: string | undefined, options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/resources.js')).listResources(server, options, context),
        options,
      ),
    );
  waiting(resources.command('watch <server> <uri>'))
    .description('a line for each update of one resource, until it is ended')
    .action((server: string, uri: string, options: CommonOptions) =>
      choose(
        async (context) =>
          (await import('./commands/watch-resource.js')).watchResource(server, uri, options, context),
        options,
      ),
    );
  waiting(resources.command('read <server> <uri>'))
    .description('print one resource, text or bytes')
    .action((server: string, uri: string, options: CommonOptions) =>
      choose(
        async (context) =>
          (await import('./commands/resources.js')).readResource(server, uri, options, context),
        options,
      ),
    );

  const prompts = program.command('prompts').description('prompts that servers offer');
  waiting(prompts.command('list [server]'))
    .description('list the prompts of all servers, or of one')
    .action((server: string | undefined, options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/prompts.js')).listPrompts(server, options, context),
        options,
      ),
    );
  waiting(prompts.command('get <server.prompt> [arguments...]'))
    .description('fill in one prompt; arguments are key=value or key=@file')
    .action((target: string, pairs: string[], options: CommonOptions) =>
      choose(
        async (context) => (await import('./commands/prompts.js')).getPrompt(target, pairs, options, context),
        options,
      ),
    );
}

function writing(command: Command, preset: string): Command {
  return reading(command, 'write this file in place of that of a scope').addOption(
    new Option('--scope <scope>', `whose file: ${scopes.join(', ')} (default: ${preset})`).choices(scopes),
  );
}

function reading(command: Command, config = 'config file (repeat for several; later ones win)'): Command {
  return deciding(command.option('-c, --config <file>', config, collect));
}

function deciding(command: Command): Command {
  return command
    .option('--json', 'data and errors as JSON')
    .option('--verbose', 'say more on stderr, with stack traces of errors');
}

function collect(text: string, texts: string[] = []): string[] {
  return [...texts, text];
}
