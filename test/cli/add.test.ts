import { chmodSync, existsSync, statSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
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

const modeOf = (file: string) => statSync(file).mode & 0o777;

describe('a server that is added', () => {
  test('is written with command, arguments and variables, and can be called at once', async () => {
    const { command, args } = scripted({});
    const added = await project.run(['add', 'echo', '-e', 'A=1=2', '-e', 'HOME', '--', command, ...args]);
    expect(added).toMatchObject({ code: 0, stdout: '' });
    const file = project.path('.bulkhead', 'mcp.local.json');
    expect(JSON.parse(project.read(file))).toEqual({
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the config
      mcpServers: { echo: { command, args, env: { A: '1=2', HOME: '${HOME}' } } },
    });
    expect(modeOf(file)).toBe(0o600);
    const called = await project.run(['call', 'echo.echo', 'text=hello']);
    expect(called).toMatchObject({ code: 0 });
    expect(called.stdout).toContain('hello');
  });

  test('goes to the file of the scope, or to one that is named', async () => {
    expect((await project.run(['add', 'u', '--scope', 'user', '--', 'node'])).code).toBe(0);
    expect((await project.run(['add', 'p', '--scope', 'project', '--', 'node'])).code).toBe(0);
    expect((await project.run(['add', 'f', '-c', 'deep/f.json', '--', 'node'])).code).toBe(0);
    expect(Object.keys(JSON.parse(project.read(userFile(project))).mcpServers)).toEqual(['u']);
    expect(Object.keys(JSON.parse(project.read(project.path('.mcp.json'))).mcpServers)).toEqual(['p']);
    expect(Object.keys(JSON.parse(project.read(project.path('deep/f.json'))).mcpServers)).toEqual(['f']);
    expect([modeOf(userFile(project)), modeOf(project.path('.mcp.json'))]).toEqual([0o600, 0o644]);
  });

  test('may be remote, with its type said for other hosts and its header taken from a variable', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the config
    const header = 'Authorization: Bearer ${TICKETS_TOKEN}';
    const args = [
      'add',
      'tickets',
      '--scope',
      'project',
      '--url',
      'https://t.example/mcp',
      '-H',
      header,
      '--json',
    ];
    const added = await project.run(args);
    expect(JSON.parse(added.stdout)).toEqual({
      server: 'tickets',
      scope: 'project',
      file: project.path('.mcp.json'),
      created: true,
      replaced: false,
      approved: true,
      unset: ['TICKETS_TOKEN'],
    });
    expect(JSON.parse(project.read(project.path('.mcp.json'))).mcpServers.tickets).toEqual({
      type: 'http',
      url: 'https://t.example/mcp',
      headers: { Authorization: header.slice('Authorization: '.length) },
    });
    expect(added.stderr).toContain('TICKETS_TOKEN is not set');
  });

  test('with a secret in clear text makes no file that others may read, and says so', async () => {
    const added = await project.run(['add', 's', '--scope', 'project', '-e', 'API_KEY=abc', '--', 'node']);
    expect(added.stderr).toMatch(/env\.API_KEY stands in the file in clear text/);
    expect(added.stderr).not.toContain('abc');
    expect(modeOf(project.path('.mcp.json'))).toBe(0o600);
  });

  test('leaves the rest of the file byte for byte, and removing it too (B110)', async () => {
    const before =
      '\ufeff{\r\n\t// ours\r\n\t"mcpServers": {\r\n\t\t"a": { "command":"a" }, // first\r\n\t},\r\n\t"x": [1,2]\r\n}\r\n';
    const file = project.write(project.path('.mcp.json'), before);
    chmodSync(file, 0o640);
    await project.run(['add', 'b', '--scope', 'project', '--', 'node', 'b.js']);
    expect(project.read(file)).toBe(
      before.replace(
        ' // first\r\n',
        ' // first\r\n\t\t"b": {\r\n\t\t\t"command": "node",\r\n\t\t\t"args": ["b.js"]\r\n\t\t},\r\n',
      ),
    );
    expect(modeOf(file)).toBe(0o640);
    expect(await project.run(['remove', 'b'])).toMatchObject({ code: 0 });
    expect(project.read(file)).toBe(before);
  });

  test('does not take the place of another without --replace', async () => {
    await project.run(['add', 'a', '--', 'node', '1']);
    const file = project.path('.bulkhead', 'mcp.local.json');
    const before = project.read(file);
    const again = await project.run(['add', 'a', '--', 'node', '2']);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toMatch(/mcp\.local\.json:3 already; pass --replace/);
    expect(project.read(file)).toBe(before);
    expect(await project.run(['add', 'a', '--replace', '--', 'node', '2'])).toMatchObject({ code: 0 });
    expect(JSON.parse(project.read(file)).mcpServers).toEqual({ a: { command: 'node', args: ['2'] } });
  });

  test('that another file overrides is told of it', async () => {
    await project.run(['add', 'a', '--', 'node', '1']);
    const added = await project.run(['add', 'a', '--scope', 'user', '--', 'node', '2']);
    expect(added.stderr).toMatch(/mcp\.local\.json has a server "a" too, and that one counts here/);
  });
});

describe('nothing is written', () => {
  test.each([
    ['an entry that could not run (B107)', ['bad', '--', 'node s.js'], /split it/],
    ['a URL of another kind', ['bad', '--url', 'ftp://x.example'], /"ftp:" URLs are not supported/],
    ['a URL as a command', ['bad', '--', 'https://x.example'], /pass it as --url/],
    ['a command and a URL', ['bad', '--url', 'https://x.example', '--', 'node'], /not both/],
    ['neither', ['bad'], /expected a command behind "--" or --url/],
    ['a header for a program', ['bad', '-H', 'A: b', '--', 'node'], /-H is for remote servers/],
    ['a variable without a name', ['bad', '-e', '=x', '--', 'node'], /NAME=value/],
    ['a transport that does not fit', ['bad', '--transport', 'sse', '--', 'node'], /needs --url/],
    [
      'an unknown transport',
      ['bad', '--transport', 'ws', '--url', 'https://x.example'],
      /--transport: expected stdio/,
    ],
    ['an unknown scope', ['bad', '--scope', 'global', '--', 'node'], /scope/],
    ['a name of control characters', ['a\u001bb', '--', 'node'], /printable/],
  ])('for %s', async (_, args, message) => {
    const ended = await project.run(['add', ...args]);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(message);
    expect(existsSync(project.path('.bulkhead'))).toBe(false);
  });

  test.each([
    ['empty', ''],
    ['cut off', '{"mcpServers": {"a": {"command": "a"'],
    ['UTF-16 and cut off', '\ufeff{"mcpServers": {'],
  ])('into a file that is %s (B109)', async (kind, content) => {
    const bytes = Buffer.from(content, kind.startsWith('UTF-16') ? 'utf16le' : 'utf8');
    const file = project.path('.mcp.json');
    project.write(file, '');
    const { readFileSync, writeFileSync } = await import('node:fs');
    writeFileSync(file, bytes);
    const ended = await project.run(['add', 'b', '--scope', 'project', '--json', '--', 'node']);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(ended.stderr).error).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/\.mcp\.json:1: .*left as it is/),
    });
    expect(readFileSync(file)).toEqual(bytes);
  });
});

describe('remove', () => {
  test('finds the one file that has the server, and takes its approval back', async () => {
    const { command, args } = scripted({});
    await project.run(['add', 'a', '--scope', 'project', '--', command, ...args]);
    expect(await project.run(['remove', 'a', '--json'])).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify({ server: 'a', scope: 'project', file: project.path('.mcp.json') })}\n`,
    });
    project.write(project.path('.mcp.json'), { mcpServers: { a: { command, args } } });
    expect(await project.run(['call', 'a.echo', 'text=x'])).toMatchObject({ code: 3 });
  });

  test('asks for the scope when several files have it, and says which one counts then', async () => {
    await project.run(['add', 'a', '--scope', 'user', '--', 'node', '1']);
    await project.run(['add', 'a', '--', 'node', '2']);
    const ended = await project.run(['remove', 'a']);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/several files \(user and local\); name one: --scope user/);
    const removed = await project.run(['remove', 'a', '--scope', 'local']);
    expect(removed.stderr).toContain(`${userFile(project)} has a server "a" too, which counts now`);
  });

  test('of an unknown server names the nearest', async () => {
    await project.run(['add', 'files', '--', 'node']);
    const ended = await project.run(['remove', 'flies']);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/nearest: files/);
  });
});
