/** The page about the command line has a section for each command that edits, inspects or spreads work, with all its options. */
import { createRequire } from 'node:module';
import { clusterDefaults } from '@bulkhead/cluster/defaults';
import { describe, expect, it } from 'vitest';
import { clusterCommands } from '../../packages/cli/src/cluster-commands.js';
import { configCommands } from '../../packages/cli/src/config-commands.js';
import { readPage } from './markdown.js';

const page = readPage('docs/cli.md');
type Program = Parameters<typeof configCommands>[0];
// commander belongs to the package of the command line.
const require = createRequire(new URL('../../packages/cli/package.json', import.meta.url));
const { Command } = require('commander') as { Command: new (name: string) => Program };
const program = new Command('bulkhead');
const choose = () => {};
const common = (command: Program) => command;
configCommands(program, choose, common);
clusterCommands(program, choose, common, clusterDefaults);
/** On every command, or told once for several. */
const shared = [
  ...['--json', '--verbose', '--config', '--timeout', '--scope', '--help', '--redis', '--postgres'],
  ...['--audit', '--audit-args', '--log-level', '--log-file', '--log-format', '--metrics-port'],
];

function section(name: string): string {
  const [, rest = ''] = page.split(new RegExp(`^#{2,3} bulkhead ${name}$`, 'm'));
  return rest.split(/^#{2,3} /m)[0] ?? '';
}

describe('docs/cli.md', () => {
  it.each(program.commands.map((command) => command.name()))('tells of %s and its options', (name) => {
    const text = section(name);
    expect(text.trim()).not.toBe('');
    const command = program.commands.find((candidate) => candidate.name() === name);
    const flags = command?.options.flatMap(({ long }) => long ?? []) ?? [];
    expect(flags.filter((flag) => !shared.includes(flag) && !text.includes(`${flag}`))).toEqual([]);
    for (const inner of command?.commands ?? []) expect(text).toContain(`\`${name} ${inner.name()}`);
  });

  it('names no command and no option of them that is not there', () => {
    const known = new Set(program.commands.flatMap((command) => command.options.map(({ long }) => long)));
    for (const command of program.commands) {
      for (const [, flag] of section(command.name()).matchAll(/^\| .*?`(--[a-z-]+)/gm)) {
        if (flag !== '--timeout') expect(known, `${command.name()} ${flag}`).toContain(flag);
      }
    }
  });
});
