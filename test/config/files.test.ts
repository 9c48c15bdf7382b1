/** Which files count, what stands in them, and what is said about a file that cannot be read. */
import { execFile } from 'node:child_process';
import { mkdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../packages/runtime/src/config/types.js';
import { configDirectory, names, problemOf, specOf, stdioOf } from './directory.js';

const entry = (command: string) => ({ command });
const file = (servers: Record<string, unknown>) => ({ mcpServers: servers });

describe('files and their order', () => {
  it('no file at all is an empty config without a complaint', async () => {
    const config = await (await configDirectory()).load();
    expect(config).toMatchObject({ servers: [], rejected: [], problems: [], files: [] });
  });

  it('a server of a later file replaces the whole entry of an earlier one', async () => {
    const directory = await configDirectory({
      user: file({ db: { command: 'user', args: ['a'], env: { X: '1' } }, only: entry('u') }),
      project: file({ db: entry('project'), shared: entry('p') }),
      local: file({ shared: entry('l') }),
    });
    const config = await directory.load();
    expect(names(config)).toEqual(['db', 'only', 'shared']);
    expect(config.servers.map(({ scope }) => scope)).toEqual(['project', 'user', 'local']);
    expect(stdioOf(config, 'db')).toMatchObject({ command: 'project', args: [] });
    expect(stdioOf(config, 'db').env.map(([name]) => name)).not.toContain('X');
    expect(config.files).toEqual([
      join(directory.home, '.config/bulkhead/mcp.json'),
      directory.path('.mcp.json'),
      directory.path('.bulkhead/mcp.local.json'),
    ]);
    expect(config.projectDir).toBe(directory.project);
  });

  it('explicit files are read alone, the last one winning', async () => {
    const directory = await configDirectory({
      user: file({ user: entry('u') }),
      project: file({ project: entry('p') }),
      local: file({ local: entry('l') }),
      files: { 'a.json': file({ s: entry('a'), a: entry('a') }), 'sub/b.json': file({ s: entry('b') }) },
    });
    const config = await directory.load({ files: ['a.json', directory.path('sub/b.json')] });
    expect(names(config)).toEqual(['a', 's']);
    expect(stdioOf(config, 's').command).toBe('b');
    expect(config.servers[1]).toMatchObject({ scope: 'file', file: directory.path('sub/b.json') });
  });

  it('explicit files stand above the user file when that is asked for', async () => {
    const directory = await configDirectory({
      user: file({ s: entry('u'), user: entry('u') }),
      files: { 'a.json': file({ s: entry('a') }) },
    });
    const config = await directory.load({ files: ['a.json'], userFile: true });
    expect(names(config)).toEqual(['s', 'user']);
    expect(stdioOf(config, 's').command).toBe('a');
  });

  it('the user file can be left out', async () => {
    const directory = await configDirectory({
      user: file({ u: entry('u') }),
      project: file({ p: entry('p') }),
    });
    expect(names(await directory.load({ userFile: false }))).toEqual(['p']);
  });

  it('the user file is looked for under XDG_CONFIG_HOME when that is absolute', async () => {
    const directory = await configDirectory({
      user: file({ home: entry('u') }),
      files: { 'xdg/bulkhead/mcp.json': file({ xdg: entry('x') }) },
    });
    const load = (xdg: string) => directory.load({ env: { ...directory.env, XDG_CONFIG_HOME: xdg } });
    expect(names(await load(directory.path('xdg')))).toEqual(['xdg']);
    expect(names(await load('xdg'))).toEqual(['home']);
  });

  it('a file named twice counts once', async () => {
    const directory = await configDirectory({ files: { 'a.json': '{"mcpServers": {"s": {}}}' } });
    const config = await directory.load({ files: ['a.json', './a.json'] });
    expect(config.files).toEqual([directory.path('a.json')]);
    expect(config.problems).toHaveLength(1);
  });

  it('an explicit file that is missing is an error that names it', async () => {
    const directory = await configDirectory({ files: { 'a.json': file({ a: entry('a') }) } });
    const config = await directory.load({ files: ['nope.json', 'a.json'] });
    expect(names(config)).toEqual(['a']);
    expect(problemOf(config)).toMatchObject({
      severity: 'error',
      file: directory.path('nope.json'),
      message: 'there is no such file',
    });
  });

  it('a directory in place of a file is an error, not the end', async () => {
    const directory = await configDirectory({ local: file({ l: entry('l') }) });
    await mkdir(directory.path('.mcp.json'));
    const config = await directory.load();
    expect(names(config)).toEqual(['l']);
    expect(problemOf(config)).toMatchObject({ severity: 'error', message: 'is a directory' });
  });

  it('a file that is far too large is an error that is found without reading it', async () => {
    const directory = await configDirectory({ project: file({ s: entry('x') }) });
    await truncate(directory.path('.mcp.json'), 9 * 1024 * 1024);
    expect(problemOf(await directory.load()).message).toBe('is larger than 8388608 bytes');
  });

  it('a pipe in place of a project file is an error, not an endless wait', async () => {
    const directory = await configDirectory();
    await promisify(execFile)('mkfifo', [directory.path('.mcp.json')]);
    expect(problemOf(await directory.load()).message).toBe('is not a regular file');
  });
});

describe('B117: disabled servers', () => {
  it.each([{ disabled: true }, { enabled: false }])(
    '%j in a later file wins over the same server',
    async (flag) => {
      const directory = await configDirectory({
        user: file({ db: entry('user') }),
        project: file({ db: { ...entry('project'), ...flag } }),
      });
      const config = await directory.load();
      expect(names(config)).toEqual(['db']);
      expect(specOf(config, 'db').disabled).toBe(true);
      expect(stdioOf(config, 'db').command).toBe('project');
    },
  );

  it.each([{ disabled: true }, { enabled: false }])('%j alone switches off the entry below', async (flag) => {
    const directory = await configDirectory({ project: file({ db: entry('p') }), local: file({ db: flag }) });
    const config = await directory.load();
    expect(specOf(config, 'db').disabled).toBe(true);
    expect(config.servers[0]).toMatchObject({ scope: 'project', file: directory.path('.mcp.json') });
    expect(config.problems).toEqual([]);
  });

  it.each([{ disabled: false }, { enabled: true }])('%j alone switches it on again', async (flag) => {
    const directory = await configDirectory({
      user: file({ db: { ...entry('u'), disabled: true } }),
      files: { 'a.json': file({ db: { disabled: true } }), 'b.json': file({ db: flag }) },
    });
    const config = await directory.load({ userFile: true, files: ['a.json', 'b.json'] });
    expect(specOf(config, 'db').disabled).toBe(false);
  });

  it('of two explicit files the later one can disable', async () => {
    const directory = await configDirectory({
      files: {
        'a.json': file({ db: entry('a') }),
        'b.json': file({ db: { ...entry('b'), enabled: false } }),
      },
    });
    expect(specOf(await directory.load({ files: ['a.json', 'b.json'] }), 'db').disabled).toBe(true);
    expect(specOf(await directory.load({ files: ['b.json', 'a.json'] }), 'db').disabled).toBe(false);
  });

  it('switching off what is not there is a warning, switching it on an error', async () => {
    const config = await (
      await configDirectory({ project: file({ off: { disabled: true }, on: { enabled: true } }) })
    ).load();
    expect(problemOf(config, 'off')).toMatchObject({ severity: 'warning', line: 3 });
    expect(problemOf(config, 'on').severity).toBe('error');
    expect(config.rejected.map(({ name }) => name)).toEqual(['off', 'on']);
  });

  it('a bad entry in a later file does not bring the earlier one back', async () => {
    const directory = await configDirectory({
      user: file({ db: entry('u') }),
      project: file({ db: 'oops' }),
    });
    const config = await directory.load();
    expect(names(config)).toEqual([]);
    expect(config.rejected).toMatchObject([{ name: 'db', problem: { file: directory.path('.mcp.json') } }]);
  });

  it('a disabled server may need variables that are not set', async () => {
    const directory = await configDirectory({
      project: file({ db: { command: `\${NOT_SET}`, disabled: true } }),
    });
    expect(problemOf(await directory.load(), 'db').severity).toBe('warning');
  });
});

describe('the text of a file', () => {
  const json = JSON.stringify(file({ s: { command: 'node', args: ['ü'] } }));

  it.each([
    ['a UTF-8 byte order mark', Buffer.from(`\uFEFF${json}`)],
    ['UTF-16LE with its mark', Buffer.from(`\uFEFF${json}`, 'utf16le')],
    ['UTF-16BE with its mark', Buffer.from(`\uFEFF${json}`, 'utf16le').swap16()],
    ['comments and trailing commas', json.replace('}}', '}, /* b */ }, // c\n').replace('{', '{ // a\n')],
    ['CRLF', JSON.stringify(JSON.parse(json), null, 2).replaceAll('\n', '\r\n')],
  ])('B109: %s is read', async (_, content) => {
    const config = await (await configDirectory({ project: content })).load();
    expect(config.problems).toEqual([]);
    expect(stdioOf(config, 's').args).toEqual(['ü']);
  });

  it.each([
    ['an empty file', '', 1, 'the file is empty'],
    ['a file of blanks', ' \r\n\t', 1, 'the file is empty'],
    ['an empty file with a mark', '\uFEFF', 1, 'the file is empty'],
    ['a truncated file', '{\n  "mcpServers": {\n    "a": {"command": "x"},\n', 3, 'ends in the middle'],
    ['a file cut inside a text', '{\n  "mcpServers": {\n    "a": {"comm', 3, 'a text does not end'],
    ['a missing comma', '{"mcpServers": {\n"a": {"command": "x"}\n"b": {}}}', 3, 'a comma is expected'],
    [
      'an unescaped backslash',
      '{"mcpServers": {"a":\n{"command": "C:\\Users"}}}',
      2,
      'write \\\\ for a backslash',
    ],
    ['text behind the end', '{"mcpServers": {}}\n}', 2, 'more text after the end'],
    ['UTF-16 without a mark', Buffer.from('{"mcpServers": {}}', 'utf16le'), 1, 'not UTF-8'],
    ['Latin-1 bytes', Buffer.from(json, 'latin1'), 1, 'not UTF-8'],
    ['an array', '[]', 1, 'expected an object at the top, got an array'],
    ['a bottomless file', '['.repeat(200_000), 1, 'nested too deeply'],
  ])('%s is one error with its line', async (_, content, line, message) => {
    const directory = await configDirectory({ project: content, local: file({ l: entry('l') }) });
    const config = await directory.load();
    expect(problemOf(config)).toMatchObject({ severity: 'error', file: directory.path('.mcp.json'), line });
    expect(problemOf(config).message).toContain(message);
    expect(problemOf(config).hint).toBeTruthy();
    expect(names(config)).toEqual(['l']);
  });

  it('`servers`, as an editor writes it, is read with a warning', async () => {
    const config = await (
      await configDirectory({ project: { servers: { s: entry('x') }, inputs: [] } })
    ).load();
    expect(names(config)).toEqual(['s']);
    expect(problemOf(config)).toMatchObject({
      severity: 'warning',
      line: 2,
      hint: 'rename it to "mcpServers"',
    });
  });

  it('`servers` beside `mcpServers` is said to be unread', async () => {
    const config = await (
      await configDirectory({ project: { servers: { s: entry('x') }, mcpServers: { m: entry('x') } } })
    ).load();
    expect(names(config)).toEqual(['m']);
    expect(problemOf(config).message).toContain('is not read beside');
  });

  it.each([
    [{ mcpservers: { s: entry('x') } }, '"mcpservers" is not read'],
    [{ mcp: { servers: { s: entry('x') } } }, '"mcp" is not read'],
    [{ theme: 'dark', github: entry('x') }, '"github" looks like a server'],
    [{ theme: 'dark' }, 'its form is'],
  ])('B105: %j holds no servers, and the hint says why', async (content, hint) => {
    const problem = problemOf(await (await configDirectory({ project: content })).load());
    expect(problem).toMatchObject({ severity: 'error', message: 'the file has no `mcpServers`' });
    expect(problem.hint).toContain(hint);
  });

  it('an empty object is only a warning', async () => {
    const problem = problemOf(await (await configDirectory({ project: {} })).load());
    expect(problem.severity).toBe('warning');
  });

  it.each([null, [], 'x', 5])('`mcpServers` of %j is an error', async (value) => {
    const problem = problemOf(await (await configDirectory({ project: { mcpServers: value } })).load());
    expect(problem).toMatchObject({ severity: 'error', line: 2 });
    expect(problem.message).toContain('expected `mcpServers` to be an object');
  });

  it('of a name that stands twice in one file the last counts, with a warning', async () => {
    const config = await (
      await configDirectory({
        project:
          '{"mcpServers": {\n"s": {"command": "one"},\n"s": {"command": "two", "env": {"A": "1",\n"A": "2"}}}}',
      })
    ).load();
    expect(stdioOf(config, 's').command).toBe('two');
    expect(config.problems.map(({ line, message }) => [line, message])).toEqual([
      [3, '"s" stands twice (lines 2 and 3); the last one counts'],
      [4, '"A" of server "s" stands twice (lines 3 and 4); the last one counts'],
    ]);
  });

  it('B103: servers and variables named after inherited properties work', async () => {
    const odd = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
    const text = odd.map(
      (name) => `"${name}": {"command": "node", "args": ["${name}"], "env": {"${name}": "1"}}`,
    );
    const config = await (await configDirectory({ project: `{"mcpServers": {${text.join()}}}` })).load();
    expect(config.problems).toEqual([]);
    expect(names(config)).toEqual(odd);
    for (const name of odd) {
      expect(stdioOf(config, name).args).toEqual([name]);
      expect(stdioOf(config, name).env).toContainEqual([name, '1']);
    }
  });

  it('a problem prints as one line, whatever the file holds', async () => {
    const directory = await configDirectory({ project: file({ 'a\n\u001b[2Kb': 'x' }) });
    const line = formatProblem(problemOf(await directory.load(), 'a\n\u001b[2Kb'));
    expect(line).toBe(
      `${directory.path('.mcp.json')}:3: server "a\\n\\u{1b}[2Kb": expected an object, got a string ` +
        '(write {"command": "node", "args": ["server.js"]} or {"url": "https://…"})',
    );
  });
});
