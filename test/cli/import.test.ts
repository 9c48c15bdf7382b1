import { existsSync } from 'node:fs';
import { importHosts, writableScopes } from '@bulkhead/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { hosts, scopes } from '../../packages/cli/src/config-commands.js';
import { readOtherHost } from '../../packages/runtime/src/config/import/read.js';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';
import { makeProject, type Project, userFile } from './project.js';

useCensus();
const directory = useTempDir();
let project: Project;
beforeEach(() => {
  project = makeProject(directory);
});

interface Report {
  file: string;
  dryRun: boolean;
  servers: { server: string; from: string; fate: string; reason?: string; notes: string[] }[];
}

async function imported(args: readonly string[], env: Record<string, string> = {}): Promise<Report> {
  const ended = await project.run(['import', ...args, '--json'], { env });
  expect(ended.code, ended.stderr).toBe(0);
  return JSON.parse(ended.stdout) as Report;
}

const written = (): Record<string, unknown> => JSON.parse(project.read(userFile(project))).mcpServers;

describe('from Claude Code', () => {
  test('come the servers of all projects and of this one, this one first', async () => {
    project.write(project.home('.claude.json'), {
      numStartups: 7,
      mcpServers: {
        all: { type: 'stdio', command: 'all', args: ['1'], env: { A: 'x' } },
        both: { command: 'of-all' },
        ws: { type: 'ws', url: 'wss://x.example' },
      },
      projects: {
        [project.path()]: {
          mcpServers: {
            both: { command: 'of-this' },
            remote: {
              type: 'http',
              url: 'https://r.example/mcp',
              oauth: { clientId: 'c', callbackPort: 8123 },
            },
          },
        },
        '/other': { mcpServers: { other: { command: 'other' } } },
      },
    });
    project.write(project.path('.mcp.json'), { mcpServers: { ours: { command: 'ours' } } });
    const ended = await project.run(['import', '--from', 'claude']);
    expect(ended.code).toBe(0);
    expect(written()).toEqual({
      all: { type: 'stdio', command: 'all', args: ['1'], env: { A: 'x' } },
      both: { command: 'of-this' },
      remote: { type: 'http', url: 'https://r.example/mcp', auth: { clientId: 'c', redirectPort: 8123 } },
    });
    expect(ended.stdout).toMatch(/^all: taken\n {2}all 1$/m);
    expect(ended.stdout).toMatch(/^remote: taken\n {2}https:\/\/r\.example\/mcp$/m);
    expect(ended.stdout).toMatch(/^ws: cannot be taken: type: "ws" is no transport$/m);
    expect(ended.stderr).toMatch(/\.mcp\.json is read by bulkhead as it stands/);
    expect(ended.stderr).toMatch(/3 of 4 servers taken/);
  });
});

describe('from Claude Desktop', () => {
  test.each([
    ['linux', {}, ['.config', 'Claude']],
    ['darwin', {}, ['Library', 'Application Support', 'Claude']],
    ['win32', { USERPROFILE: true }, ['AppData', 'Roaming', 'Claude']],
  ] as const)('on %s', async (platform, variables, place) => {
    project.write(project.home(...place, 'claude_desktop_config.json'), {
      mcpServers: { files: { command: 'npx', args: ['-y', 'files'] } },
    });
    const env = {
      HOME: project.home(),
      ...('USERPROFILE' in variables ? { USERPROFILE: project.home() } : {}),
    };
    const reading = await readOtherHost('claude-desktop', { baseDir: project.home(), platform, env });
    expect(reading.candidates.map(({ name, refused }) => [name, refused])).toEqual([['files', undefined]]);
  });
});

describe('from Cursor', () => {
  test('come entries with its variables filled in', async () => {
    project.write(project.home('.cursor', 'mcp.json'), {
      mcpServers: { a: { command: `\${userHome}/bin/a`, env: { T: `\${env:T}` } } },
    });
    project.write(project.path('.cursor', 'mcp.json'), {
      mcpServers: {
        b: { command: 'b', args: [`\${workspaceFolder}/x`] },
        c: { command: 'c', envFile: '.env' },
      },
    });
    const { servers } = await imported(['--from', 'cursor'], { T: 'set' });
    expect(servers.map(({ server, fate }) => [server, fate])).toEqual([
      ['a', 'taken'],
      ['b', 'taken'],
      ['c', 'refused'],
    ]);
    expect(servers[2]?.reason).toMatch(/envFile/);
    expect(written()).toEqual({
      a: { command: project.home('bin', 'a'), env: { T: `\${env:T}` } },
      b: { command: 'b', args: [project.path('x')] },
    });
  });
});

describe('from VS Code', () => {
  test('nothing comes that asks a person for a secret at every start, with the reason', async () => {
    project.write(
      project.path('.vscode', 'mcp.json'),
      `{
  // inputs are asked for
  "inputs": [{ "type": "promptString", "id": "key", "password": true }],
  "servers": {
    "asks": { "type": "http", "url": "https://a.example", "headers": { "K": "\${input:key}" } },
    "set": { "type": "stdio", "command": "x", "cwd": "\${config:some.path}" },
    "plain": { "type": "sse", "url": "https://p.example/sse", "dev": {}, "sandboxEnabled": true },
  },
}`,
    );
    const { servers } = await imported(['--from', 'vscode']);
    expect(servers).toMatchObject([
      { server: 'asks', fate: 'refused', reason: expect.stringMatching(/asks a person for "key"/) },
      { server: 'plain', fate: 'taken', notes: ['"sandboxEnabled" is not taken over'] },
      { server: 'set', fate: 'refused', reason: expect.stringMatching(/only the editor knows/) },
    ]);
    expect(written()).toEqual({ plain: { type: 'sse', url: 'https://p.example/sse' } });
  });
});

describe('from Codex', () => {
  test('come names of variables as references and seconds as milliseconds', async () => {
    project.write(
      project.home('.codex', 'config.toml'),
      `model = "x"
[mcp_servers.local]
command = "npx"
args = ["-y", "local"]
env_vars = ["LOCAL_TOKEN"]
startup_timeout_sec = 20
tool_timeout_sec = 1.5
enabled_tools = ["a"]
[mcp_servers.local.env]
A = "1"
[mcp_servers.remote]
url = "https://r.example/mcp"
bearer_token_env_var = "R_TOKEN"
http_headers = { X = "y" }
enabled = false
`,
    );
    const { servers } = await imported(['--from', 'codex']);
    expect(servers).toMatchObject([
      {
        fate: 'taken',
        notes: ['"enabled_tools" is not taken over', 'the variable LOCAL_TOKEN is not set here'],
      },
      { fate: 'taken' },
    ]);
    expect(written()).toEqual({
      local: {
        command: 'npx',
        args: ['-y', 'local'],
        env: { A: '1', LOCAL_TOKEN: `\${LOCAL_TOKEN}` },
        startupTimeoutMs: 20_000,
        callTimeoutMs: 1_500,
      },
      remote: {
        url: 'https://r.example/mcp',
        headers: { X: 'y', Authorization: `Bearer \${R_TOKEN}` },
        disabled: true,
      },
    });
  });
});

describe('from Gemini', () => {
  test('come its two kinds of URL as what they are, and no trust', async () => {
    project.write(project.home('.gemini', 'settings.json'), {
      theme: 'x',
      mcpServers: {
        sse: { url: 'https://s.example/sse' },
        http: {
          httpUrl: 'https://h.example/mcp',
          headers: { A: 'Bearer $H_TOKEN' },
          timeout: 5000,
          trust: true,
        },
      },
    });
    const { servers } = await imported(['--from', 'gemini'], { H_TOKEN: 'x' });
    expect(servers[0]?.notes).toEqual(['"trust" is not taken over']);
    expect(written()).toEqual({
      http: {
        headers: { A: `Bearer \${H_TOKEN}` },
        timeout: 5000,
        type: 'http',
        url: 'https://h.example/mcp',
      },
      sse: { type: 'sse', url: 'https://s.example/sse' },
    });
  });
});

describe('an import', () => {
  test('writes nothing with --dry-run, but shows the same', async () => {
    project.write(project.home('.claude.json'), { mcpServers: { a: { command: 'a' } } });
    const report = await imported(['--from', 'claude', '--dry-run']);
    expect(report).toMatchObject({ dryRun: true, servers: [{ server: 'a', fate: 'taken' }] });
    expect(existsSync(userFile(project))).toBe(false);
  });

  test('never writes over a server that is there, unless --replace says so', async () => {
    project.write(userFile(project), '{ "mcpServers": { "a": {"command": "mine"} } } // mine\n');
    project.write(project.home('.claude.json'), { mcpServers: { a: { command: 'a' }, b: { command: 'b' } } });
    const first = await imported(['--from', 'claude']);
    expect(first.servers.map(({ fate }) => fate)).toEqual(['exists', 'taken']);
    expect(project.read(userFile(project))).toBe(
      '{ "mcpServers": { "a": {"command": "mine"}, "b": {"command": "b"} } } // mine\n',
    );
    const second = await imported(['--from', 'claude', '--replace']);
    expect(second.servers.map(({ fate }) => fate)).toEqual(['replaced', 'replaced']);
    expect(project.read(userFile(project))).toContain('"a": {"command": "a"}');
  });

  test('reads a file that is named, whatever its place', async () => {
    project.write(project.path('some.json'), '{"mcpServers": {"__proto__": {"command": "a"}}}');
    expect(
      (await imported(['--from', 'claude', '--file', 'some.json', '--scope', 'local'])).servers,
    ).toMatchObject([{ server: '__proto__', fate: 'taken' }]);
    expect(project.read(project.path('.bulkhead', 'mcp.local.json'))).toContain('"__proto__"');
  });

  test('says which file is not there, and which cannot be read', async () => {
    const missing = await project.run(['import', '--from', 'codex']);
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toMatch(/no such file: .*config\.toml; name the file with --file/);
    project.write(project.home('.codex', 'config.toml'), 'a = = b');
    const broken = await project.run(['import', '--from', 'codex']);
    expect(broken.stderr).toMatch(/nothing is taken from .*: it is no valid TOML/);
  });

  test('of an unknown host names the known ones', async () => {
    const ended = await project.run(['import', '--from', 'emacs']);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/claude, claude-desktop, cursor/);
  });

  test('has the words in its help that the runtime knows', () => {
    expect(hosts).toEqual(importHosts);
    expect(scopes).toEqual(writableScopes);
  });
});
