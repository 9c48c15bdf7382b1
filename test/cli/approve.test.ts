import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { mainPath } from './cli.js';
import { makeProject, type Project } from './project.js';

useCensus();
const directory = useTempDir();
let project: Project;
beforeEach(() => {
  project = makeProject(directory);
});

const file = () => project.path('.mcp.json');
const call = () => project.run(['call', 'theirs.echo', 'text=hello']);

/** Runs the program on a terminal of its own and types `keys` once the question is there. */
function onTerminal(args: readonly string[], keys: string): Promise<{ code: number | null; screen: string }> {
  const line = [process.execPath, mainPath, ...args].map((part) => `'${part}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols 100 rows 30; ${line}`, '/dev/null'], {
    cwd: project.path(),
    env: { ...process.env, ...project.env, TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let screen = '';
  let typed = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    if (typed || !screen.includes('run in this project?')) return;
    typed = true;
    child.stdin.write(keys);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      child.stdin.destroy();
      resolve({ code, screen });
    });
  });
}

describe('without a terminal', () => {
  test('nothing is approved, what would run is shown, and the flag is named (B167)', async () => {
    project.write(file(), {
      mcpServers: {
        theirs: { command: 'sh', args: ['-c', 'a b'], env: { SECRET: 'hunter22' }, cwd: '/tmp', trust: true },
      },
    });
    for (const stdin of [undefined, '', { open: true } as const]) {
      const ended = await project.run(['approve', 'theirs'], stdin === undefined ? {} : { stdin });
      expect(ended).toMatchObject({ code: 3, stdout: '' });
      expect(ended.stderr).toContain(`server "theirs"
  from: ${file()}:3
  type: stdio
  command: sh
  args: "-c" "a b"
  env: SECRET
  cwd: /tmp
  trust: yes: what its tools say of themselves would be believed`);
      expect(ended.stderr).toContain('bulkhead approve theirs --yes');
      expect(ended.stderr).not.toContain('hunter22');
    }
    expect(await project.run(['list'])).toMatchObject({ stdout: expect.stringMatching(/needs-approval/) });
  });

  test('--yes approves, and only what was shown: another command asks again (B174)', async () => {
    const honest = scripted({});
    project.write(file(), { mcpServers: { theirs: honest } });
    expect(await call()).toMatchObject({ code: 3 });
    expect(await project.run(['approve', '--all', '--yes'])).toMatchObject({ code: 0, stdout: '' });
    expect(await call()).toMatchObject({ code: 0 });

    project.write(file(), { mcpServers: { theirs: { ...honest, args: [...honest.args, 'more'] } } });
    expect(await call()).toMatchObject({ code: 3 });
    const again = await project.run(['approve', '--yes', '--json']);
    expect(again.stderr).toMatch(/changed: args was .* is now /);
    expect(JSON.parse(again.stdout)).toMatchObject([{ server: 'theirs', answer: 'approved' }]);
    expect(await call()).toMatchObject({ code: 0 });
  });

  test('shows no escape of a foreign file', async () => {
    project.write(file(), { mcpServers: { 'a\u001b[2J': { command: 'x', args: ['\u001b[1A\u202e'] } } });
    const { stdout, stderr } = await project.run(['approve']);
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  });

  test('says when there is nothing to do, and which server is unknown', async () => {
    expect(await project.run(['approve'])).toMatchObject({ code: 0, stdout: '' });
    project.write(file(), { mcpServers: { theirs: { command: 'node' } } });
    const ended = await project.run(['approve', 'their']);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/nearest: theirs/);
  });

  test('a server that only lacks a variable can be decided about', async () => {
    project.write(file(), { mcpServers: { theirs: { ...scripted({}), env: { T: `\${SURELY_NOT_SET}` } } } });
    expect(await project.run(['approve', 'theirs', '--yes'])).toMatchObject({ code: 0 });
    const env = { SURELY_NOT_SET: 'x' };
    expect(await project.run(['call', 'theirs.echo', 'text=hello'], { env })).toMatchObject({ code: 0 });
  });
});

describe('on a terminal', () => {
  test('a person says yes', async () => {
    project.write(file(), { mcpServers: { theirs: scripted({}) } });
    const { code, screen } = await onTerminal(['approve'], 'y');
    expect(screen).toContain('approved server "theirs"');
    expect(code).toBe(0);
    expect(await call()).toMatchObject({ code: 0 });
  });

  test('a person says no, or only presses return', async () => {
    project.write(file(), { mcpServers: { theirs: scripted({ record: project.path('record') }) } });
    for (const keys of ['n', '\r', '\u0003']) {
      const { code, screen } = await onTerminal(['approve'], keys);
      expect(screen).not.toContain('approved server');
      expect(code).toBe(3);
    }
    expect(await call()).toMatchObject({ code: 3 });
    expect(existsSync(project.path('record'))).toBe(false);
  });
});

describe('revoke', () => {
  test('takes an approval back', async () => {
    project.write(file(), { mcpServers: { theirs: scripted({}), other: scripted({}) } });
    await project.run(['approve', '--yes']);
    expect(await project.run(['revoke', 'theirs'])).toMatchObject({ code: 0, stdout: '' });
    expect(await call()).toMatchObject({ code: 3 });
    expect(await project.run(['revoke', 'theirs'])).toMatchObject({ code: 1 });
    expect(await project.run(['revoke', '--all', '--json'])).toMatchObject({
      stdout: '[{"server":"other"}]\n',
    });
    expect(await project.run(['revoke'])).toMatchObject({ code: 1 });
  });
});
