/**
 * `bulkhead completion`: a script for the shell, made from the commands and options that the program has. It is static:
 * pressing the tab key starts no program, and where a file is wanted the shell offers files.
 */
import type { Command, Option } from 'commander';
import { usageError } from '../context.js';

export const shells = ['bash', 'zsh', 'fish'] as const;

interface Words {
  /** Words of the command line up to here, without the program's name: `resources list`. */
  path: string;
  commands: { name: string; description: string }[];
  options: Option[];
}

/** @throws {BulkheadError} `BAD_INPUT` for another shell. */
export function completionScript(shell: string, program: Command): string {
  const tree = wordsOf(program, '');
  switch (shell) {
    case 'bash':
      return bash(program.name(), tree);
    case 'zsh':
      return `#compdef ${program.name()}\nautoload -U +X bashcompinit && bashcompinit\n${bash(program.name(), tree)}`;
    case 'fish':
      return fish(program.name(), tree);
    default:
      throw usageError(`expected ${shells.join(', ')}, got "${shell}"`);
  }
}

function wordsOf(command: Command, path: string): Words[] {
  const { visibleCommands } = visible(command);
  const here: Words = {
    path,
    commands: visibleCommands.map((child) => ({ name: child.name(), description: child.description() })),
    options: visible(command).visibleOptions,
  };
  return [
    here,
    ...visibleCommands
      .filter((child) => child.name() !== 'help')
      .flatMap((child) => wordsOf(child, path === '' ? child.name() : `${path} ${child.name()}`)),
  ];
}

function visible(command: Command): { visibleCommands: Command[]; visibleOptions: Option[] } {
  const help = command.createHelp();
  return {
    visibleCommands: help.visibleCommands(command),
    visibleOptions: [...help.visibleOptions(command)],
  };
}

/** Finds the command by the words before the cursor, then offers its words, the choices of an option, or files. */
function bash(name: string, tree: readonly Words[]): string {
  const paths = tree.flatMap(({ path }) => (path === '' ? [] : [path]));
  const cases = tree.map(({ path, commands, options }) => {
    const words = [...commands.map((command) => command.name), ...options.flatMap(flagsOf)];
    return `    ${quote(path)}) words=${quote(words.join(' '))} ;;`;
  });
  const choices = new Map<string, string>();
  for (const { path, options } of tree) {
    for (const option of options) {
      if (option.argChoices === undefined) continue;
      for (const flag of flagsOf(option)) choices.set(`${path}:${flag}`, option.argChoices.join(' '));
    }
  }
  const valued = new Set(tree.flatMap(({ options }) => options.filter(takesValue).flatMap(flagsOf)));
  return `_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= word words= index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case "\${path:+$path }$word" in
      ${paths.map(quote).join(' | ')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path:$previous" in
${[...choices].map(([key, values]) => `    ${quote(key)}) COMPREPLY=($(compgen -W ${quote(values)} -- "$current")); return ;;`).join('\n')}
  esac
  case "$previous" in
    ${[...valued].map(quote).join(' | ')}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ \${#COMPREPLY[@]} -eq 0 && "$current" != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _${name} ${name}
`;
}

function fish(name: string, tree: readonly Words[]): string {
  const lines = tree.flatMap(({ path, commands, options }) => {
    const parts = path === '' ? [] : path.split(' ');
    const deeper = commands.map((command) => command.name);
    const notYet = deeper.length === 0 ? '' : `; and not __fish_seen_subcommand_from ${deeper.join(' ')}`;
    const when =
      parts.length === 0
        ? '__fish_use_subcommand'
        : `${parts.map((part) => `__fish_seen_subcommand_from ${part}`).join('; and ')}${notYet}`;
    return [
      ...commands.map(
        (command) =>
          `complete -c ${name} -n ${quote(when)} -f -a ${quote(command.name)} -d ${quote(command.description)}`,
      ),
      ...options.map((option) => {
        const short = option.short === undefined ? '' : ` -s ${option.short.slice(1)}`;
        const long = option.long === undefined ? '' : ` -l ${option.long.slice(2)}`;
        const values =
          option.argChoices !== undefined
            ? ` -x -a ${quote(option.argChoices.join(' '))}`
            : takesValue(option)
              ? ' -r'
              : '';
        return `complete -c ${name} -n ${quote(when)}${short}${long}${values} -d ${quote(option.description)}`;
      }),
    ];
  });
  return `${lines.join('\n')}\n`;
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
