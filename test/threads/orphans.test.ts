/** What a killed host left behind is ended by the next start, and nothing else is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Runtime } from '@bulkhead/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOf } from '../../packages/workers/src/supervisor/process-start.js';
import { alive, useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { descendants } from '../support/processes.js';
import { useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

const census = useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);
const HOST = fileURLToPath(new URL('../fixtures/console-host.mjs', import.meta.url));
const NO_PROCESS = 2 ** 22 + 1; // above the largest pid there is

const before = new Map<string, string | undefined>();
beforeEach(() => {
  for (const [name, value] of [
    ['XDG_STATE_HOME', directory('state')],
    ['XDG_RUNTIME_DIR', directory('run')],
  ] as const) {
    before.set(name, process.env[name]);
    process.env[name] = value;
  }
});
const spawned: ChildProcess[] = [];
afterEach(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  for (const child of spawned.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

const runFiles = () =>
  existsSync(directory('run', 'bulkhead')) ? readdirSync(directory('run', 'bulkhead')) : [];

/** A process of its own group that no runtime started. */
async function innocent(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: 'ignore',
  });
  spawned.push(child);
  await once(child, 'spawn');
  return child.pid as number;
}

function writeRunFile(name: string, content: unknown): string {
  mkdirSync(directory('run', 'bulkhead'), { recursive: true });
  const file = directory('run', 'bulkhead', name);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** Starts a runtime that looks after what is left, and gives its warnings once it has looked. */
async function nextStart(): Promise<{ runtime: Runtime; warnings: string[] }> {
  const warnings: string[] = [];
  const runtime = await start({ good: scripted({}) });
  runtime.on('warning', ({ message }) => warnings.push(message));
  await runtime.ready();
  expect((await runtime.callTool('mcp__good__echo', { text: 'x' })).text()).toBe('x');
  return { runtime, warnings };
}

describe('a host that is killed together with its guard', () => {
  it('leaves a stubborn server, which the next start ends and names in a warning', async () => {
    const servers = {
      stubborn: scripted({ ignoreEof: true, ignoreSigterm: true, keepAliveMs: 1_000 }),
      polite: scripted({}),
    };
    const init = JSON.stringify({ servers, logDir: directory('logs') });
    const host = spawn(process.execPath, [HOST, init], { stdio: ['pipe', 'pipe', 'inherit'] });
    spawned.push(host);
    const exited = once(host, 'exit');
    const ready = await new Promise<{ servers: { name: string; pid: number }[] }>((resolve) => {
      createInterface({ input: host.stdout }).on('line', (line) => {
        if (line.startsWith('{"event":"ready"')) resolve(JSON.parse(line));
      });
    });
    const pidOf = new Map(ready.servers.map(({ name, pid }) => [name, pid]));
    const [stubborn = 0, polite = 0] = [pidOf.get('stubborn'), pidOf.get('polite')];
    for (const pid of [stubborn, polite]) census.watch(pid);
    const guard = descendants(host.pid as number).find(({ command }) => command.startsWith('/bin/sh'));
    process.kill(guard?.pid ?? 0, 'SIGKILL');
    host.kill('SIGKILL');
    await exited;
    await eventually(
      () => !alive(polite),
      () => 'the polite server to leave when its stdin ends',
    );
    expect(alive(stubborn)).toBe(true);
    expect(runFiles().length).toBe(1);

    const { runtime, warnings } = await nextStart();
    await eventually(
      () => !alive(stubborn),
      () => 'the stubborn server to be ended',
    );
    expect(warnings).toEqual([expect.stringContaining(`left behind: ${stubborn}`)]);
    await runtime.close();
    expect(runFiles()).toEqual([]);
  });
});

describe('a run file', () => {
  it('of a host that lives is left alone, and so are its groups', async () => {
    const pid = await innocent();
    const host = { pid: process.pid, started: startOf(process.pid) };
    const file = writeRunFile('1-other.json', { host, groups: [{ pid, started: startOf(pid) }] });
    const { warnings } = await nextStart();
    expect(alive(pid)).toBe(true);
    expect(existsSync(file)).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('whose pid belongs to another process by now (other start time) signals nobody', async () => {
    const pid = await innocent();
    const host = { pid: NO_PROCESS, started: '1' };
    const file = writeRunFile(`${NO_PROCESS}-dead.json`, { host, groups: [{ pid, started: '1' }] });
    const { warnings } = await nextStart();
    expect(alive(pid)).toBe(true);
    expect(existsSync(file)).toBe(false); // done with
    expect(warnings).toEqual([]);
  });

  it('with the right start time ends the group: what the others are measured by', async () => {
    const pid = await innocent();
    const exited = once(spawned.pop() as ChildProcess, 'exit');
    const host = { pid: NO_PROCESS, started: '1' };
    writeRunFile(`${NO_PROCESS}-dead.json`, { host, groups: [{ pid, started: startOf(pid) }] });
    await nextStart();
    expect((await exited)[1]).toBe('SIGKILL');
  });

  it.each([
    ['torn', '{"host":{"pid":4194305,"started":"1"},"groups":[{"pid":'],
    ['empty', ''],
    ['foreign', '[1,2,3]'],
    ['naming group 0', { host: { pid: NO_PROCESS, started: '1' }, groups: [{ pid: 0, started: '1' }] }],
    ['naming group -1', { host: { pid: NO_PROCESS, started: '1' }, groups: [{ pid: -1, started: '1' }] }],
  ])('that is %s harms nobody and stops no start', async (_, content) => {
    const file = writeRunFile('9-strange.json', content);
    const { warnings } = await nextStart();
    expect(warnings).toEqual([]);
    expect(readFileSync(file, 'utf8')).toBe(typeof content === 'string' ? content : JSON.stringify(content));
  });

  it('names the groups that run, by pid and start time, and is gone after close', async () => {
    const { runtime } = await nextStart();
    const pid = (await runtime.status()).servers[0]?.pid as number;
    const [name = ''] = runFiles();
    const record = JSON.parse(readFileSync(directory('run', 'bulkhead', name), 'utf8'));
    expect(record).toEqual({
      host: { pid: process.pid, started: startOf(process.pid) },
      groups: [{ pid, started: startOf(pid) }],
    });
    await runtime.close();
    expect(runFiles()).toEqual([]);
  });
});
