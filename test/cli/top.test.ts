/** `bulkhead top` on a real terminal, as a person has it: what it shows, what its keys do, and how it leaves. */
import { mkdirSync } from 'node:fs';
import { readEntry } from '@bulkhead/runtime/control/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { onTerminal, type Terminal } from '../support/pseudo-terminal.js';
import { readRecord, recorded } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { mainPath, type Running, run, start, writeConfig } from './cli.js';

useCensus({ graceMs: 8_000 });
const path = useTempDir();
const running: Running[] = [];
const ENTER = '\u001b[?1049h';
const LEAVE = '\u001b[?1049l';
const SHOW_CURSOR = '\u001b[?25h';
const DOWN = '\u001b[B';
const UP = '\u001b[A';

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
  mkdirSync(path('run'), { mode: 0o700 });
});
afterEach(async () => {
  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.splice(0).map(({ ended }) => ended));
  delete process.env.XDG_RUNTIME_DIR;
});

/** Back on the screen that was there before, with its cursor, and nothing after that. */
function leftWell(written: string): boolean {
  return written.slice(written.lastIndexOf(LEAVE)).replaceAll(SHOW_CURSOR, '').trim() === LEAVE;
}

/** A resident of an honest server `good` and one whose program is not there. */
async function resident(): Promise<Running> {
  const config = writeConfig(path('c.json'), {
    good: scripted({
      record: path('record'),
      floods: [{ stream: 'stderr', lineBytes: 30, bytes: 90, fill: 'e' }],
    }),
    gone: { command: 'no-such-program-anywhere' },
  });
  const up = start(['up', '--name', 'looked-at', '-c', config], { cwd: path() });
  running.push(up);
  await eventually(
    () => up.stderr().includes('is up (process'),
    () => `the resident to be up; it said: ${up.stderr()}`,
  );
  await recorded(path('record'), ({ methods }) => methods.includes('tools/list'));
  return up;
}

function top(env: Record<string, string> = {}, ...more: string[]): Promise<Terminal> {
  const command = [process.execPath, mainPath, 'top', '--resident', 'looked-at', ...more];
  return onTerminal(command, { cwd: path(), env, size: { columns: 100, rows: 24 } });
}

async function stateOf(server: string): Promise<string | undefined> {
  const { stdout } = await run(['status', '--json', '--resident', 'looked-at'], { cwd: path() });
  const { servers } = JSON.parse(stdout) as { servers: { name: string; state: string }[] };
  return servers.find(({ name }) => name === server)?.state;
}

describe('top', () => {
  test('shows the servers, obeys its keys and gives the terminal back', async () => {
    await resident();
    const screen = await top();
    await screen.shows('looked-at  up ');
    expect(screen.written()).toContain(ENTER);
    await screen.shows('> gone');
    await screen.shows('no-such-program-anywhere');
    let from = screen.written().length;
    screen.press(DOWN);
    await screen.shows('> good', from);
    screen.press('l');
    await screen.shows('stderr of good:', from);
    await screen.shows('eeeeeeeeee', from);
    screen.press('?');
    await screen.shows('this help', from);
    screen.press('s');
    await screen.shows('by state', from);

    screen.press('r');
    await screen.shows('restart good: it is', from);
    await eventually(
      () => readRecord(path('record')).events.filter(({ event }) => event === 'launch').length === 2,
      () => 'the server to be started again',
    );
    from = screen.written().length;
    screen.press('d');
    await screen.shows('disable good: it is', from);
    await screen.shows('disabled      ', from);
    expect(await stateOf('good')).toBe('disabled');
    screen.press('d');
    await screen.shows('enable good: it is', from);
    screen.press('q');
    expect(await screen.ended).toBe(0);
    expect(screen.written()).toSatisfy(leftWell);
  });

  test('draws itself anew when the terminal changes its size, and never beyond it', async () => {
    await resident();
    const screen = await top();
    await screen.shows('> gone');
    expect(screen.written()).not.toContain('memory');
    let from = screen.written().length;
    screen.resize({ columns: 150, rows: 40 });
    await screen.shows('memory', from);
    from = screen.written().length;
    screen.resize({ columns: 60, rows: 10 });
    await screen.shows('> gone', from);
    // What scrolled by before stays: the terminal is never cleared with its history.
    expect(screen.written()).not.toContain('\u001b[3J');
    screen.press('\u0003');
    expect(await screen.ended).toBe(130);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('ended by %s it leaves a usable terminal and that status', async (signal, code) => {
    await resident();
    const screen = await top();
    await screen.shows('> gone');
    screen.kill(signal);
    expect(await screen.ended).toBe(code);
    expect(screen.written()).toSatisfy(leftWell);
  });

  test('says that the resident is gone, on the screen that was there before', async () => {
    const up = await resident();
    const screen = await top();
    await screen.shows('> gone');
    up.child.kill('SIGTERM');
    await up.ended;
    expect(await screen.ended).toBe(4);
    const [, after = ''] = screen.written().split(LEAVE);
    expect(after).toMatch(/error: resident "looked-at".*does not answer/);
  });

  test('uses no colour with NO_COLOR, and some without', async () => {
    await resident();
    const colours = (text: string) => [31, 32, 33].filter((code) => text.includes(`\u001b[${code}m`));
    const plain = await top({ NO_COLOR: '1' });
    await plain.shows('> gone');
    plain.press(UP + DOWN);
    await plain.shows('> good');
    plain.press('q');
    expect(await plain.ended).toBe(0);
    expect(colours(plain.written())).toEqual([]);
    const coloured = await top({ NO_COLOR: '' });
    await coloured.shows('> gone');
    coloured.press('q');
    expect(await coloured.ended).toBe(0);
    expect(colours(coloured.written())).not.toEqual([]);
  });

  test('is status --watch where there is no screen, and says so', async () => {
    await resident();
    const piped = start(['top', '--resident', 'looked-at'], { cwd: path() });
    await eventually(
      () => piped.stdout().split('resident looked-at').length > 2,
      () => `two looks; it wrote: ${piped.stdout()} ${piped.stderr()}`,
    );
    piped.child.kill('SIGINT');
    const ended = await piped.ended;
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain('no live screen without a terminal');
    expect(ended.stdout).not.toContain('\u001b');

    const dumb = await top({ TERM: 'dumb' });
    await dumb.shows('no live screen on a terminal of this kind');
    await dumb.shows('server');
    dumb.kill('SIGTERM');
    expect(await dumb.ended).toBe(143);
    expect(dumb.written()).not.toContain('\u001b');
  });

  test('without a resident says how to start one, and touches no screen', async () => {
    expect(readEntry('looked-at')).toBeUndefined();
    const screen = await top();
    expect(await screen.ended).toBe(4);
    expect(screen.written()).toContain('bulkhead up --detach');
    expect(screen.written()).not.toContain('\u001b');
  });
});
