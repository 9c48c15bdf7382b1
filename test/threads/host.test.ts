/** However a host ends, its servers end with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { alive, useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const HOST = fileURLToPath(new URL('../fixtures/host.mjs', import.meta.url));

const hosts: ChildProcess[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) host.kill('SIGKILL');
});

interface Said {
  event: string;
  [key: string]: unknown;
}

/** Starts a host and collects what it says. */
function startHost(servers: object, scene: 'serve' | 'loss', limits: object = {}) {
  const init = JSON.stringify({ servers, scene, limits, logDir: directory('logs') });
  const host = spawn(process.execPath, ['--unhandled-rejections=strict', HOST, init], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, XDG_STATE_HOME: directory('state'), XDG_RUNTIME_DIR: directory('run') },
  });
  hosts.push(host);
  const said: Said[] = [];
  const lines = createInterface({ input: host.stdout as NodeJS.ReadableStream });
  lines.on('line', (line) => said.push(JSON.parse(line)));
  const heard = (event: string) =>
    eventually(
      () => said.find((line) => line.event === event),
      () => `"${event}" among ${JSON.stringify(said)}`,
      30_000,
    );
  const exited = once(host, 'exit');
  return { host, said, heard, exited };
}

const stubborn = scripted({ ignoreEof: true, ignoreSigterm: true, keepAliveMs: 1_000 });
const polite = scripted({});

describe('servers are gone', () => {
  it.each(['SIGHUP', 'SIGTERM', 'SIGINT'] as const)(
    'after %s to the host, stubborn ones too (B025)',
    async (signal) => {
      const { host, heard, exited } = startHost({ polite, stubborn }, 'serve', {
        eofGraceMs: 200,
        termGraceMs: 200,
      });
      const { pids } = (await heard('ready')) as { pids: number[] } & Said;
      expect(pids.every((pid) => alive(pid))).toBe(true);
      host.kill(signal);
      const [code] = await exited;
      expect(code).toBe({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal]);
      expect(pids.filter((pid) => alive(pid))).toEqual([]);
    },
  );

  it('within 5 s after SIGKILL to the host with eight servers, two of them stubborn', async () => {
    const servers = Object.fromEntries(
      Array.from({ length: 8 }, (_, i) => [`s${i}`, i < 2 ? stubborn : polite]),
    );
    const { host, heard, exited } = startHost(servers, 'serve');
    const { pids } = (await heard('ready')) as { pids: number[] } & Said;
    expect(pids.filter((pid) => alive(pid)).length).toBe(8);
    host.kill('SIGKILL');
    await exited;
    await eventually(
      () => pids.every((pid) => !alive(pid)),
      () => `the end of ${pids.filter((pid) => alive(pid)).join(', ')}`,
      5_000,
    );
  });

  it('at once on the second signal', async () => {
    const { host, heard, exited } = startHost({ stubborn }, 'serve', {
      eofGraceMs: 30_000,
      termGraceMs: 30_000,
    });
    const { pids } = (await heard('ready')) as { pids: number[] } & Said;
    host.kill('SIGINT');
    host.kill('SIGINT');
    setTimeout(() => host.kill('SIGINT'), 300);
    const [code] = await exited;
    expect(code).toBe(130);
    expect(pids.filter((pid) => alive(pid))).toEqual([]);
  });
});

describe('the supervisor thread', () => {
  it('can be lost twice and is started again; the third time the runtime says so and ends in order', async () => {
    const { said, exited } = startHost({ s: polite }, 'loss');
    const [code] = await exited;
    const told = said.map(({ event, pids: _, ...rest }) => [event, rest]);
    expect(told).toEqual([
      ['ready', { ready: ['s'] }],
      ['lost', { restarts: 1 }],
      ['flying', { code: 'SUPERVISOR_LOST', sent: true }],
      ['again', { text: 'round 1' }],
      ['lost', { restarts: 2 }],
      ['flying', { code: 'SUPERVISOR_LOST', sent: true }],
      ['again', { text: 'round 2' }],
      ['lost', { restarts: 3 }],
      ['flying', { code: 'SUPERVISOR_LOST', sent: true }],
      ['again', { code: 'NOT_READY', message: expect.stringContaining('restarted twice within 60 s') }],
      ['closed', {}],
    ]);
    expect(code).toBe(0);
  });
});
