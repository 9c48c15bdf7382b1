import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { useTempDir } from '../support/temp-dir.js';
import { run } from './cli.js';

const path = useTempDir();

/** What bash offers for a line, the cursor at its end. */
async function offered(line: string): Promise<string[]> {
  const { stdout, code } = await run(['completion', 'bash']);
  expect(code).toBe(0);
  writeFileSync(path('completion.bash'), stdout);
  const words = line.split(' ');
  const script = `source ${path('completion.bash')}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
"$(complete -p bulkhead | sed 's/.*-F \\([^ ]*\\) .*/\\1/')"
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const ended = spawnSync('bash', ['--norc', '-c', script], { cwd: path(), encoding: 'utf8' });
  expect(ended.stderr).toBe('');
  return ended.stdout.split('\n').filter((word) => word !== '');
}

describe('completion in bash', () => {
  test('offers commands, and commands below commands', async () => {
    expect(await offered('bulkhead ')).toEqual(
      expect.arrayContaining(['call', 'add', 'doctor', 'resources', '--help']),
    );
    expect(await offered('bulkhead re')).toEqual(expect.arrayContaining(['remove', 'resources', 'revoke']));
    expect(await offered('bulkhead resources ')).toEqual(expect.arrayContaining(['list', 'read']));
  });

  test('offers the options of the command that is on the line, and no others', async () => {
    expect(await offered('bulkhead import --')).toEqual(
      expect.arrayContaining(['--from', '--dry-run', '--scope']),
    );
    expect(await offered('bulkhead list --')).not.toContain('--dry-run');
    expect(await offered('bulkhead resources read --t')).toEqual(expect.arrayContaining(['--timeout']));
  });

  test('offers what an option takes: its choices, else files', async () => {
    expect(await offered('bulkhead import --from c')).toEqual([
      'claude',
      'claude-desktop',
      'cursor',
      'codex',
    ]);
    writeFileSync(path('calls.jsonl'), '');
    expect(await offered('bulkhead list --config cal')).toEqual(['calls.jsonl']);
    expect(await offered('bulkhead batch cal')).toEqual(['calls.jsonl']);
  });
});

describe('completion for other shells', () => {
  test('is the same script for zsh, and a list for fish', async () => {
    const bash = await run(['completion', 'bash']);
    const zsh = await run(['completion', 'zsh']);
    expect(zsh.stdout.startsWith('#compdef bulkhead\n')).toBe(true);
    expect(zsh.stdout.endsWith(bash.stdout)).toBe(true);
    const fish = await run(['completion', 'fish']);
    expect(fish.stdout).toMatch(/^complete -c bulkhead -n '__fish_use_subcommand' -f -a 'add' /m);
    expect(fish.stdout).toMatch(
      /-n '__fish_seen_subcommand_from import' -l from -x -a 'claude claude-desktop/m,
    );
  });

  test('of an unknown shell ends with 1', async () => {
    expect(await run(['completion', 'tcsh'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/bash, zsh, fish/),
    });
  });
});
