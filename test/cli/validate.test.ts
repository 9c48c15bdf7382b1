import { beforeEach, describe, expect, test } from 'vitest';
import { useTempDir } from '../support/temp-dir.js';
import { makeProject, type Project } from './project.js';

const directory = useTempDir();
let project: Project;
beforeEach(() => {
  project = makeProject(directory);
});

describe('validate', () => {
  test('shows every mistake with file, line, server, field and what to do, and ends with 1', async () => {
    const file = project.write(
      project.path('.mcp.json'),
      `{"mcpServers": {
  "a": {"command": 1},
  "b": {"serverUrl": "https://b.example"},
  "c": {"command": "node", "args": "x", "timeout": 60},
  "fine": {"command": "node"}
}}`,
    );
    const ended = await project.run(['validate']);
    expect(ended.code).toBe(1);
    expect(ended.stdout.trimEnd().split('\n')).toEqual([
      `error: ${file}:2: server "a": command: expected a string, got 1`,
      `error: ${file}:3: server "b": has neither \`command\` (a program to start) nor \`url\` (a server to reach) (rename "serverUrl" to "url")`,
      `warning: ${file}:3: server "b": serverUrl: is no field of a server and is not read (did you mean "url"?)`,
      expect.stringMatching(/^error: .*:4: server "c": args: expected an array of strings/),
    ]);
    expect(ended.stderr).toMatch(/1 usable server in .*\.mcp\.json; 3 errors, 1 warning/);
  });

  test('with --json gives the same as values', async () => {
    project.write(project.path('x.json'), '{"mcpServers": {\n"a": {"command": 1}}}');
    const ended = await project.run(['validate', 'x.json', '--json']);
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout)).toEqual([
      {
        severity: 'error',
        file: project.path('x.json'),
        line: 2,
        server: 'a',
        field: 'command',
        message: 'expected a string, got 1',
      },
    ]);
  });

  test('ends with 0 when there are warnings only, and when there is nothing', async () => {
    expect(await project.run(['validate'])).toMatchObject({ code: 0, stdout: '' });
    project.write(project.path('x.json'), { mcpServers: { a: { command: 'node', timeout: 60 } } });
    const ended = await project.run(['validate', 'x.json']);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^warning: .*60 milliseconds/) });
    expect(await project.run(['validate', 'x.json', '--json'])).toMatchObject({ code: 0 });
  });

  test('ends with 1 for a file that is not there, or is no JSON', async () => {
    expect(await project.run(['validate', 'gone.json'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/gone\.json: there is no such file/),
    });
    project.write(project.path('x.json'), '{\n"mcpServers": {"a" {}}}');
    expect(await project.run(['validate', 'x.json'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/x\.json:2: not valid JSON: a colon is expected/),
    });
  });
});
