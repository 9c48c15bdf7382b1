/** What really runs: resolved entries are started, and the program tells what it got. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, symlink } from 'node:fs/promises';
import { delimiter, dirname } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { resolveServers } from '../../packages/runtime/src/config/load.js';
import type { LoadedConfig } from '../../packages/runtime/src/config/types.js';
import { configDirectory, loadServers, problemOf, stdioOf } from './directory.js';

const report = `#!/usr/bin/env node
process.stdout.write(JSON.stringify({ cwd: process.cwd(), env: process.env, args: process.argv.slice(2) }));
`;
const runFile = promisify(execFile);

interface Report {
  cwd: string;
  env: Record<string, string>;
  args: string[];
}

/** Starts what the entry resolved to, exactly so, and gives what it saw. */
async function run(config: LoadedConfig, name: string): Promise<Report> {
  const { command, args, cwd, env } = stdioOf(config, name);
  const { stdout } = await runFile(command, args, { cwd, env: Object.fromEntries(env) });
  return JSON.parse(stdout) as Report;
}

async function projectWithScript(servers: Record<string, unknown>, scope: 'project' | 'local' = 'project') {
  const directory = await configDirectory({
    [scope]: { mcpServers: servers },
    files: { 'report.mjs': report, 'sub/report.mjs': report, 'sub/deep/.keep': '' },
  });
  await chmod(directory.path('report.mjs'), 0o755);
  await chmod(directory.path('sub/report.mjs'), 0o755);
  return directory;
}

describe('B034: environment', () => {
  it('one variable of the entry comes on top of PATH, and secrets of the host stay out', async () => {
    const directory = await projectWithScript({
      s: { command: 'node', args: ['report.mjs'], env: { X: '1', LANG: null } },
    });
    const env = { ...directory.env, GITHUB_TOKEN: 'secret', LANG: 'C', TERM: 'dumb' };
    const seen = await run(await directory.load({ env }), 's');
    expect(seen.env).toMatchObject({ X: '1', PATH: directory.env.PATH, HOME: directory.home, TERM: 'dumb' });
    expect(seen.env).not.toHaveProperty('GITHUB_TOKEN');
    expect(seen.env).not.toHaveProperty('LANG');
  });

  it('inheritEnv passes all of it', async () => {
    const directory = await projectWithScript({
      s: { command: 'node', args: ['report.mjs'], inheritEnv: true },
    });
    const seen = await run(await directory.load({ env: { ...directory.env, GITHUB_TOKEN: 'secret' } }), 's');
    expect(seen.env).toMatchObject({ GITHUB_TOKEN: 'secret' });
  });
});

describe('B035, B037: working directory and relative commands', () => {
  it("without cwd a server runs in the config file's directory, wherever the host runs", async () => {
    const directory = await projectWithScript({ s: { command: './report.mjs' } });
    expect(directory.project).not.toBe(process.cwd());
    expect((await run(await directory.load(), 's')).cwd).toBe(directory.project);
    const elsewhere = await directory.load({ cwd: directory.home, files: [directory.path('.mcp.json')] });
    expect((await run(elsewhere, 's')).cwd).toBe(directory.project);
  });

  it('a relative cwd starts there, and a relative command starts from cwd', async () => {
    const directory = await projectWithScript({
      s: { command: './report.mjs', cwd: 'sub' },
      up: { command: '../report.mjs', cwd: './sub/deep' },
    });
    const config = await directory.load();
    expect(await run(config, 's')).toMatchObject({ cwd: directory.path('sub') });
    expect(stdioOf(config, 's').command).toBe(directory.path('sub/report.mjs'));
    expect(await run(config, 'up')).toMatchObject({ cwd: directory.path('sub/deep') });
  });

  it('an absolute cwd is taken as it is', async () => {
    const directory = await projectWithScript({});
    const { project, env } = directory;
    const entry = { command: 'node', args: [directory.path('report.mjs')], cwd: dirname(project) };
    const config = resolveServers({ s: entry }, { cwd: '/', env });
    expect((await run(config, 's')).cwd).toBe(dirname(project));
  });

  it('relative paths of the local file start from the project, not from .bulkhead', async () => {
    const directory = await projectWithScript({ s: { command: './report.mjs' } }, 'local');
    expect((await run(await directory.load(), 's')).cwd).toBe(directory.project);
    const explicit = await directory.load({ files: ['.bulkhead/mcp.local.json'] });
    expect((await run(explicit, 's')).cwd).toBe(directory.project);
  });

  it('a bare command is left to PATH, even when a file of that name lies there', async () => {
    const directory = await configDirectory({
      project: { mcpServers: { s: { command: 'node' } } },
      files: { node: 'no program' },
    });
    expect(stdioOf(await directory.load(), 's').command).toBe('node');
  });

  it('a command or cwd that does not exist is no problem of the config', async () => {
    const config = await loadServers({ a: { command: './gone' }, b: { command: 'gone', cwd: '/gone/gone' } });
    expect(config.problems).toEqual([]);
  });
});

describe('B119: no shell', () => {
  it.each([
    ['node s.js', [], '"command": "node", "args": ["s.js"]'],
    ['npx -y "my server" --x', ['z'], '"command": "npx", "args": ["-y","my server","--x","z"]'],
    ["sh -c 'a b'", [], '"command": "sh", "args": ["-c","a b"]'],
    [' node', [], '"command": "node", "args": []'],
    ['./my tool/run now', [], '"command": "./my", "args": ["tool/run","now"]'],
    ['node\ns.js', [], '"command": "node", "args": ["s.js"]'],
  ])('%j as a command is an error that shows the split', async (command, args, split) => {
    const config = await loadServers({ s: { command, args }, good: { command: 'node' } });
    expect(problemOf(config, 's')).toMatchObject({ severity: 'error', field: 'command' });
    expect(problemOf(config, 's').message).toBe(`there is no program named ${JSON.stringify(command)}`);
    expect(problemOf(config, 's').hint).toContain(split);
    expect(config.servers).toHaveLength(1);
  });

  it('a program whose name has spaces runs, by path and by PATH', async () => {
    const directory = await projectWithScript({
      path: { command: './my tools/the server', args: ['a b'] },
      bare: { command: 'the server' },
    });
    await mkdir(directory.path('my tools'));
    await symlink('../report.mjs', directory.path('my tools/the server'));
    const PATH = [directory.path('my tools'), directory.env.PATH].join(delimiter);
    const config = await directory.load({ env: { ...directory.env, PATH } });
    expect(config.problems).toEqual([]);
    expect((await run(config, 'path')).args).toEqual(['a b']);
    expect((await run(config, 'bare')).env).toMatchObject({ PATH });
  });

  it('arguments arrive as they are: spaces, quotes, empty, line breaks', async () => {
    const args = ['a b', '', '"q"', "'", 'x\ny', '$HOME', '*', '\\'];
    const directory = await projectWithScript({ s: { command: 'node', args: ['report.mjs', ...args] } });
    expect((await run(await directory.load(), 's')).args).toEqual(args);
  });
});
