/** A host at a terminal: Ctrl-C reaches the whole foreground group, and that group must be the host alone. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { alive, useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { descendants } from '../support/processes.js';
import { readRecord, recorded } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

const census = useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const HOST = fileURLToPath(new URL('../fixtures/console-host.mjs', import.meta.url));
const CTRL_C = '\x03';

interface Said {
  event: string;
  [key: string]: unknown;
}

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

function startHost(servers: object, underTerminal: boolean) {
  const host = [process.execPath, HOST, JSON.stringify({ servers, logDir: directory('logs') })];
  const [command, ...args] = underTerminal
    ? ['python3', '-c', 'import pty, sys; pty.spawn(sys.argv[1:])', ...host]
    : host;
  const child = spawn(command as string, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // a group of its own, as a shell gives to each job
    env: { ...process.env, XDG_STATE_HOME: directory('state'), XDG_RUNTIME_DIR: directory('run') },
  });
  started.push(child);
  const said: Said[] = [];
  createInterface({ input: child.stdout as Readable }).on('line', (line) => {
    // A terminal also shows what was typed, before or on the same line.
    const at = line.indexOf('{"event"');
    if (at >= 0) said.push(JSON.parse(line.slice(at)));
  });
  const exited = once(child, 'exit');
  return {
    pid: child.pid as number,
    said,
    exited,
    type: (text: string) => void (child.stdin as Writable).write(text),
    heard: (event: string, nth = 1) =>
      eventually(
        () => said.filter((line) => line.event === event)[nth - 1],
        () => `"${event}", number ${nth}, among ${JSON.stringify(said)}`,
        20_000,
      ),
  };
}

const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;

describe.each([
  { how: 'as a signal to the foreground group', underTerminal: false },
  { how: 'typed into a terminal', underTerminal: true },
])('Ctrl-C $how (B038)', ({ underTerminal }) => {
  it.skipIf(underTerminal && !hasPython)(
    'interrupts one call; the servers live and answer the next one',
    async () => {
      const record = directory('record.jsonl');
      const host = startHost({ busy: scripted({ record }), idle: scripted({}) }, underTerminal);
      const { servers } = (await host.heard('ready')) as Said & { servers: { pid: number }[] };
      const interrupt = () => (underTerminal ? host.type(CTRL_C) : process.kill(-host.pid, 'SIGINT'));

      interrupt();
      await host.heard('interrupted', 1);
      host.type('call busy hang\n');
      await recorded(record, ({ methods }) => methods.includes('tools/call'));
      interrupt();
      await host.heard('interrupted', 2);
      expect(await host.heard('result', 1)).toMatchObject({ server: 'busy', code: 'CANCELLED' });

      host.type('call busy echo {"text":"still here"}\n');
      expect(await host.heard('result', 2)).toMatchObject({ server: 'busy', text: 'still here' });
      host.type('call idle echo {"text":"me too"}\n');
      expect(await host.heard('result', 3)).toMatchObject({ server: 'idle', text: 'me too' });
      host.type('status\n');
      expect((await host.heard('status')).servers).toEqual(servers);
      expect(readRecord(record).events.filter(({ event }) => event === 'signal')).toEqual([]);

      host.type('end\n');
      await host.heard('closed');
      await host.exited;
      expect(servers.filter(({ pid }) => alive(pid))).toEqual([]);
    },
  );
});

describe('the guard', () => {
  it('survives Ctrl-C too, and ends a stubborn server when the host is killed afterwards', async () => {
    const stubborn = scripted({ ignoreEof: true, ignoreSigterm: true, keepAliveMs: 1_000 });
    const host = startHost({ stubborn }, false);
    const { servers } = (await host.heard('ready')) as Said & { servers: { pid: number }[] };
    for (const { pid } of servers) census.watch(pid);
    const guards = descendants(host.pid).filter(({ command }) => command.startsWith('/bin/sh'));
    expect(guards.length).toBe(1);
    process.kill(-host.pid, 'SIGINT');
    await host.heard('interrupted');
    process.kill(host.pid, 'SIGKILL');
    await host.exited;
    await eventually(
      () => servers.every(({ pid }) => !alive(pid)),
      () => 'the end of the stubborn server',
    );
  });
});
