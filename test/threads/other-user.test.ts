/**
 * Another user of the same machine: what we leave on disk, the sockets we open and the web page are closed to him. As
 * root a real second user tries it; else the modes are looked at, which is what the kernel would do.
 */
import { spawn } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { socketPath } from '@bulkhead/runtime/control/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OutputFiles } from '../../packages/runtime/src/agent/output-files.js';
import { authDirectory, FileTokenStore } from '../../packages/workers/src/server/auth/file-store.js';
import { run } from '../cli/cli.js';
import { startWeb } from '../cli/web-page.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const MB = 1_000_000;
const places = { XDG_RUNTIME_DIR: 'run', XDG_STATE_HOME: 'state', XDG_CACHE_HOME: 'cache', TMPDIR: 'tmp' };

useCensus({ graceMs: 8_000 });
const path = useTempDir();
const start = useRuntime(path);
const before = new Map(Object.keys(places).map((name) => [name, process.env[name]]));

if (!isRoot) {
  process.stderr.write('not root, so there is no second user to be: the modes of files are looked at\n');
}

beforeEach(() => {
  // Open to everyone, as some system may have them: only what we make ourselves may keep others out.
  chmodSync(path(), 0o755);
  for (const [name, directory] of Object.entries(places)) {
    process.env[name] = path(directory);
    openDirectory(path(directory));
  }
});
afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

function openDirectory(directory: string): string {
  mkdirSync(directory);
  chmodSync(directory, 0o755);
  return directory;
}

/** Everything below that is no directory. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const found = join(directory, entry.name);
    return entry.isDirectory() ? filesBelow(found) : [found];
  });
}

/** What a Node program, run by nobody, prints. */
async function asNobody(program: string, input: unknown): Promise<string> {
  const child = spawn(process.execPath, ['-e', program, JSON.stringify(input)], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return text(child.stdout);
}

/** Those of `paths` that another user could read, write or connect to. */
async function openToOthers(paths: readonly string[]): Promise<string[]> {
  if (isRoot) return JSON.parse(await asNobody(`(${intruder})(JSON.parse(process.argv[1]))`, paths));
  return paths.filter((file) => (lstatSync(file).mode & 0o077) !== 0);
}

/** Runs in a process of its own, so it takes nothing from here. */
const intruder = `async (paths) => {
  const fs = require('node:fs');
  const net = require('node:net');
  const opens = (path, flags) => { try { fs.closeSync(fs.openSync(path, flags)); return true; } catch { return false; } };
  const connects = (path) => new Promise((resolve) => {
    const socket = net.connect(path);
    socket.on('connect', () => { socket.destroy(); resolve(true); });
    socket.on('error', () => resolve(false));
  });
  const open = [];
  for (const path of paths) if (opens(path, 'r') || opens(path, 'r+') || (await connects(path))) open.push(path);
  console.log(JSON.stringify(open));
}`;

describe('another user of the machine', () => {
  test('reads no token, log, result or approval, and connects to no socket', async () => {
    const shared = path('shared.txt');
    writeFileSync(shared, 'for all', { mode: 0o644 });
    const project = openDirectory(path('project'));
    writeFileSync(join(project, '.mcp.json'), JSON.stringify({ mcpServers: { s: scripted({}) } }));
    expect(await run(['approve', 's', '--yes'], { cwd: project })).toMatchObject({ code: 0 });
    await new FileTokenStore().write('key', {
      issuer: 'https://issuer.example',
      client: { clientId: 'c' },
      scopes: [],
    });
    await new OutputFiles().saveText('a result that was too long for the model');
    const runtime = await start(
      { s: { ...scripted({}), spillBytes: 2 * MB } },
      // Where a log directory was there before, it is as open as it was.
      {
        logDir: openDirectory(path('logs')),
        spillDir: openDirectory(path('spill')),
        control: { name: 'app' },
      },
    );
    await runtime.ready();
    const { spilled } = await runtime.callTool('mcp__s__big', { bytes: 3 * MB });
    const logs = await eventually(
      () => {
        const found = filesBelow(path('logs'));
        return found.length > 0 && found;
      },
      () => 'the log of the server',
    );
    const secrets = ['run', 'state', 'cache', 'tmp', 'logs', 'spill'].flatMap((name) =>
      filesBelow(path(name)),
    );
    for (const one of [spilled?.path, socketPath('app'), logs[0]]) expect(secrets).toContain(one);
    for (const directory of [authDirectory(), path('state', 'bulkhead', 'approvals'), path('tmp')])
      expect(secrets.some((file) => file.startsWith(directory))).toBe(true);
    // The one that is open shows that the other user looks at all.
    expect(await openToOthers([shared, ...secrets])).toEqual([shared]);
    // A directory keeps others out of what lies in it; what lies in one that was there before must do so by itself.
    for (const file of [...logs, ...filesBelow(authDirectory())])
      expect([file, lstatSync(file).mode & 0o077]).toEqual([file, 0]);
  });

  test('cannot open the web page, even with its address, and does not use it up', async () => {
    writeFileSync(path('c.json'), JSON.stringify({ mcpServers: { s: scripted({}) } }));
    const page = await startWeb(['-c', path('c.json')], { cwd: path() });
    try {
      const program =
        'fetch(process.argv[1].slice(1, -1)).then(async (a) => console.log(a.status, await a.text()))';
      if (isRoot && process.platform === 'linux') {
        const answer = await asNobody(program, page.url.href);
        expect(answer).toMatch(/^403 /);
        expect(answer).toContain('another user of this machine');
      } else {
        expect((await page.ask('/')).status).toBe(403);
      }
      expect((await page.enter()).status).toBe(200);
    } finally {
      page.running.child.kill('SIGTERM');
      await page.running.ended;
    }
  });
});
