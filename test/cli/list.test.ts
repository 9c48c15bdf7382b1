import { existsSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { maskedArgs, maskedUrl } from '../../packages/cli/src/mask.js';
import { useCensus } from '../support/census.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { makeProject, type Project, userFile } from './project.js';

useCensus();
const directory = useTempDir();
let project: Project;
beforeEach(() => {
  project = makeProject(directory);
});

/** The rows of a table by their first column. */
function rows(table: string): Map<string, string[]> {
  return new Map(
    table
      .trimEnd()
      .split('\n')
      .map((row) => row.split(/ {2,}/))
      .map((row) => [row[0] ?? '', row.slice(1)]),
  );
}

describe('the list', () => {
  test('shows state, scope, transport, source and command of every server, and starts none', async () => {
    project.write(userFile(project), {
      mcpServers: {
        mine: { command: 'node', args: ['a b.js'] },
        off: { url: 'https://off.example/mcp', disabled: true },
        lacks: { command: 'node', env: { T: `\${SURELY_NOT_SET}` } },
      },
    });
    project.write(project.path('.mcp.json'), {
      mcpServers: { theirs: scripted({ record: project.path('record') }), broken: { command: 1 } },
    });
    const ended = await project.run(['list']);
    expect(ended.code).toBe(0);
    const table = rows(ended.stdout);
    expect(table.get('server')).toEqual(['state', 'scope', 'transport', 'source', 'runs']);
    expect(table.get('mine')).toEqual([
      'enabled',
      'user',
      'stdio',
      '~/.config/bulkhead/mcp.json:3',
      'node "a b.js"',
    ]);
    expect(table.get('off')?.slice(0, 3)).toEqual(['disabled', 'user', 'http']);
    expect(table.get('lacks')?.slice(0, 3)).toEqual(['invalid', 'user', 'stdio']);
    expect(table.get('theirs')?.slice(0, 4)).toEqual(['needs-approval', 'project', 'stdio', '.mcp.json:3']);
    expect(table.get('broken')?.[0]).toBe('invalid');
    expect(ended.stderr).toMatch(/broken: .*command: expected a string/);
    expect(ended.stderr).toMatch(/lacks: .*SURELY_NOT_SET is not set/);
    expect(existsSync(project.path('record'))).toBe(false);
  });

  test('with --json is an array, with names of variables and no value of one', async () => {
    project.write(userFile(project), {
      mcpServers: { a: { command: 'node', args: ['--token', 'hunter22'], env: { API_KEY: 'hunter23' } } },
    });
    const ended = await project.run(['list', '--json']);
    expect(JSON.parse(ended.stdout)).toEqual([
      {
        server: 'a',
        scope: 'user',
        transport: 'stdio',
        state: 'enabled',
        file: userFile(project),
        line: 3,
        runs: 'node --token ***',
        env: ['API_KEY'],
      },
    ]);
    expect(ended.stdout + ended.stderr).not.toMatch(/hunter2/);
  });

  test('writes no escape of a foreign file to the terminal', async () => {
    project.write(project.path('.mcp.json'), {
      mcpServers: { 'a\u001b[2J': { command: 'x\u001b]0;y\u0007', args: ['\u202eabc'] } },
    });
    const ended = await project.run(['list']);
    expect(ended.stdout + ended.stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  });

  test('of nothing is empty and says how to begin', async () => {
    expect(await project.run(['list'])).toMatchObject({ code: 0, stdout: '' });
    expect(await project.run(['list', '--json'])).toMatchObject({ code: 0, stdout: '[]\n' });
  });
});

describe('--check', () => {
  test('starts what may run, shows what became of it, and ends with 4 when one failed', async () => {
    project.write(userFile(project), {
      mcpServers: { good: scripted({ tools: [], toolCount: 3 }), gone: { command: 'no-such-program' } },
    });
    project.write(project.path('.mcp.json'), {
      mcpServers: { theirs: scripted({ record: project.path('record') }) },
    });
    const ended = await project.run(['list', '--check', '--json']);
    const list = JSON.parse(ended.stdout) as {
      server: string;
      state: string;
      tools?: number;
      reason?: string;
    }[];
    expect(ended.code).toBe(4);
    expect(list.map(({ server, state, tools }) => [server, state, tools])).toEqual([
      ['gone', 'quarantined', undefined],
      ['good', 'ready', 3],
      ['theirs', 'needs-approval', undefined],
    ]);
    expect(list[0]?.reason).toContain('no-such-program');
    expect(existsSync(project.path('record'))).toBe(false);
  });
});

describe('masking', () => {
  test.each([
    [
      ['--api-key', 'abc', 'file.txt'],
      ['--api-key', '***', 'file.txt'],
    ],
    [
      ['--token=abc', '-v', '--key', '--other'],
      ['--token=***', '-v', '--key', '--other'],
    ],
    [
      ['--header', 'Authorization: Bearer abc'],
      ['--header', 'Authorization: ***'],
    ],
    [
      [`--header`, `Authorization:Bearer \${TOKEN}`],
      ['--header', `Authorization:Bearer \${TOKEN}`],
    ],
    [
      ['ghp_0123456789abcdefghij', '/home/key/x'],
      ['***', '/home/key/x'],
    ],
    [
      ['postgres://me:pass@host/db', '-y', '@scope/name@1.2.3'],
      ['postgres://me:***@host/db', '-y', '@scope/name@1.2.3'],
    ],
  ])('of %j', (args, shown) => {
    expect(maskedArgs(args)).toEqual(shown);
  });

  test.each([
    ['https://x.example/mcp?api_key=abc&page=2', 'https://x.example/mcp?api_key=***&page=2'],
    ['https://x.example/s/0a1b2c3d4e5f60718293a4b5c6d7/mcp', 'https://x.example/s/***/mcp'],
    [`https://x.example/\${TOKEN}/mcp?key=\${KEY}`, `https://x.example/\${TOKEN}/mcp?key=\${KEY}`],
    ['http://127.0.0.1:8080/mcp', 'http://127.0.0.1:8080/mcp'],
  ])('of %s', (url, shown) => {
    expect(maskedUrl(url)).toBe(shown);
  });
});
