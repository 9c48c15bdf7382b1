/** Residents as a person has them: `up` in a directory, commands that use it, edits of its files, and its end, good or bad. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ControlClient, listEntries, readEntry } from '@bulkhead/runtime/control/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { failureOf } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { type Ended, parseLines, type Running, run, start, writeConfig } from './cli.js';

const { watch } = useCensus({ graceMs: 8_000 });
const path = useTempDir();
const running: Running[] = [];

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
  mkdirSync(path('run'), { mode: 0o700 });
});
afterEach(async () => {
  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.splice(0).map(({ ended }) => ended));
  await run(['down', '--all']);
  delete process.env.XDG_RUNTIME_DIR;
});

const inDir = (args: readonly string[]) => run(args, { cwd: path() });

/** A config of one honest server `s` that writes down what it receives. */
function honest(script: Parameters<typeof scripted>[0] = {}): string {
  return writeConfig(path('c.json'), {
    s: scripted({ record: path('record'), pidFile: path('pid'), ...script }),
  });
}

/** A resident in the foreground, once it says that it is up. */
async function up(...args: string[]): Promise<Running> {
  const resident = start(['up', ...args], { cwd: path() });
  running.push(resident);
  await says(resident, 'is up (process');
  return resident;
}

async function says(resident: Running, text: string): Promise<void> {
  await eventually(
    () => resident.stderr().includes(text),
    () => `the resident to say "${text}"; it said: ${resident.stderr()}`,
  );
}

function launches(record = path('record')): number {
  return readRecord(record).events.filter(({ event }) => event === 'launch').length;
}

const shown = ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr });

describe('commands where a resident is up', () => {
  test('use its servers, with the output and the exit status that they have without it (B165)', async () => {
    const config = honest();
    const lines = [
      ['call', 's.echo', 'text=hello'],
      ['call', 's.echo', '--args', '{"a":[1,12345678901]}', '--json'],
      ['call', 'mcp__s__echo', 'text=full'],
      ['call', 's.fail', 'text=broken'],
      ['call', 's.fail', 'text=broken', '--json'],
      ['call', 's.sleep', 'ms=soon'],
      ['call', 's.nope'],
      ['call', 'x.echo'],
      ['tools'],
      ['tools', 's', '--json'],
    ];
    const alone = [];
    for (const line of lines) alone.push(shown(await inDir([...line, '-c', config])));
    const before = launches();
    await up('-c', config);
    await eventually(
      () => launches() === before + 1,
      () => 'the resident to start its server',
    );
    for (const [index, line] of lines.entries())
      expect([line, shown(await inDir([...line, '-c', config]))]).toEqual([line, alone[index]]);
    expect(launches()).toBe(before + 1);
  });

  test('keep every digit of what goes out and comes back', async () => {
    const args = [fileURLToPath(new URL('./raw-server.mjs', import.meta.url))];
    const config = writeConfig(path('c.json'), { raw: { command: process.execPath, args } });
    const line = ['call', 'raw.raw', 'id:=12345678901234567890', '--no-validate', '--json', '-c', config];
    await up('-c', config);
    const { code, stdout } = await inDir(line);
    expect(code).toBe(0);
    // Out, as the server read it, and back, as the server wrote it.
    expect(stdout).toContain('\\"arguments\\":{\\"id\\":12345678901234567890}');
    expect(stdout).toContain('"structuredContent":{"id": 1915883588174806058}');
  });

  test('leave it alone with --no-resident, for another configuration and for other values of its variables', async () => {
    const config = writeConfig(path('c.json'), {
      s: { ...scripted({ record: path('record') }), env: { WHICH: `\${BULKHEAD_TEST_WHICH:-none}` } },
    });
    await up('-c', config);
    const call = ['call', 's.echo', 'text=a', '-c', config];
    expect((await inDir(call)).code).toBe(0);
    expect(launches()).toBe(1);
    expect((await inDir([...call, '--no-resident'])).code).toBe(0);
    expect(launches()).toBe(2);
    const options = { cwd: path(), env: { BULKHEAD_TEST_WHICH: 'other' } };
    expect((await run(call, options)).code).toBe(0);
    expect(launches()).toBe(3);
    const other = writeConfig(path('other.json'), { s: scripted({ record: path('record') }) });
    expect((await inDir(['call', 's.echo', 'text=a', '-c', other])).code).toBe(0);
    expect(launches()).toBe(4);
  });

  test('use the one they name from anywhere, and say what to do when it is not there', async () => {
    await up('-c', honest(), '--name', 'mine');
    mkdirSync(path('elsewhere'));
    const elsewhere = { cwd: path('elsewhere') };
    const named = ['--resident', 'mine'];
    expect(await run(['call', 's.echo', 'text=a', ...named], elsewhere)).toMatchObject({
      code: 0,
      stdout: 'a\n',
    });
    expect((await run(['tools', ...named], elsewhere)).stdout).toContain('echo');
    expect(await run(['call', 's.nope', ...named], elsewhere)).toMatchObject({ code: 5, stdout: '' });
    const missing = await run(['call', 's.echo', '--resident', 'nobody'], elsewhere);
    expect(missing).toMatchObject({ code: 4, stdout: '' });
    expect(missing.stderr).toMatch(/no resident "nobody" is up;.*--resident: mine/);
    const none = await run(['status'], elsewhere);
    expect(none).toMatchObject({ code: 4, stdout: '' });
    expect(none.stderr).toContain('bulkhead up --detach');
  });
});

describe('up', () => {
  test('--detach returns when it is up, ps lists it, down ends it and its servers', async () => {
    const config = honest();
    const detached = await inDir(['up', '--detach', '--json', '-c', config]);
    expect(detached.code).toBe(0);
    const facts = JSON.parse(detached.stdout) as { name: string; pid: number; log: string };
    watch(facts.pid);
    watch(await pidFrom(path('pid')));
    await eventually(
      () => readFileSync(facts.log, 'utf8').includes('is ready'),
      () => 'the log of the resident to tell of its server',
    );
    const [row] = JSON.parse((await inDir(['ps', '--json'])).stdout);
    expect(row).toMatchObject({ name: facts.name, pid: facts.pid, project: path(), total: 1 });
    expect((await inDir(['ps'])).stdout).toContain(facts.name);
    const again = await inDir(['up', '--detach', '-c', config]);
    expect(again.code).toBe(0);
    expect(again.stderr).toContain('is up already');
    expect((await inDir(['down', '-c', config])).stderr).toContain('has ended');
    expect(listEntries()).toEqual([]);
    expect((await inDir(['down', '-c', config])).code).toBe(0);
  });

  test('--detach that cannot start says why, with the exit status of the reason', async () => {
    writeFileSync(path('bad.json'), '{');
    const ended = await inDir(['up', '--detach', '-c', path('bad.json')]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('bad.json');
    expect(listEntries()).toEqual([]);
  });

  test('twice at once: one wins, the other says so and has started nothing', async () => {
    const config = honest();
    const both = [1, 2].map(() => start(['up', '-c', config], { cwd: path() }));
    running.push(...both);
    const loser = await Promise.race(both.map(({ ended }) => ended));
    expect(loser.code).toBe(1);
    expect(loser.stderr).toMatch(/is up already|is taken by process/);
    await recorded(path('record'), ({ methods }) => methods.includes('tools/list'));
    expect(launches()).toBe(1);
    expect(listEntries()).toHaveLength(1);
  });

  test('--idle ends it when nobody used it, but not while a call is under way', async () => {
    const config = honest();
    const resident = await up('-c', config, '--idle', '1500ms');
    expect(await inDir(['call', 's.sleep', 'ms=3000', '-c', config])).toMatchObject({ code: 0 });
    expect(launches()).toBe(1);
    const ended = await resident.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain('nobody used it');
  });
});

describe('an edit of its files', () => {
  test('starts what was added and stops what was removed, and leaves the others alone', async () => {
    const config = honest();
    const resident = await up('-c', config);
    const pid = await pidFrom(path('pid'));
    writeConfig(config, {
      s: scripted({ record: path('record'), pidFile: path('pid') }),
      t: scripted({}),
    });
    await says(resident, 'reloaded: added t');
    expect(await inDir(['call', 't.echo', 'text=new', '-c', config])).toMatchObject({
      code: 0,
      stdout: 'new\n',
    });
    honest();
    await says(resident, 'reloaded: removed t');
    expect(await pidFrom(path('pid'))).toBe(pid);
    expect(launches()).toBe(1);
  });

  test('that breaks a file changes nothing, is told, and is taken once it is repaired', async () => {
    const config = honest();
    const resident = await up('-c', config);
    const pid = await pidFrom(path('pid'));
    writeFileSync(config, '{"mcpServers": {');
    await says(resident, 'is not taken');
    const status = await inDir(['status', '--json', '-c', config]);
    expect(status.code).not.toBe(0);
    const report = JSON.parse(status.stdout);
    expect(report.reloadFailure).toContain('c.json');
    expect(report.servers[0]).toMatchObject({ name: 's', pid });
    writeConfig(config, { s: scripted({ record: path('record'), pidFile: path('pid') }), t: scripted({}) });
    await says(resident, 'reloaded: added t');
    expect(await pidFrom(path('pid'))).toBe(pid);
  });

  test('of a project that was vouched for: what a later version brings waits for an approval', async () => {
    writeConfig(path('.mcp.json'), { s: scripted({ pidFile: path('pid') }) });
    const resident = await up('--trust-project');
    await pidFrom(path('pid'));
    writeConfig(path('.mcp.json'), {
      s: scripted({ pidFile: path('pid') }),
      t: scripted({ pidFile: path('pid-t') }),
    });
    await says(resident, 'server "t" is needs-approval');
    const status = await inDir(['status', '--json']);
    expect(status.code).toBe(3);
    const states = JSON.parse(status.stdout).servers.map(
      ({ name, state }: { name: string; state: string }) => [name, state],
    );
    expect(states).toEqual([
      ['s', 'ready'],
      ['t', 'needs-approval'],
    ]);
  });
});

test('a config file that appears later, in a directory of its own, is seen, and so is the next edit of it', async () => {
  writeConfig(path('.mcp.json'), { s: scripted({}) });
  const resident = await up('--trust-project');
  mkdirSync(path('.bulkhead'));
  writeConfig(path('.bulkhead', 'mcp.local.json'), { t: scripted({}) });
  await says(resident, 'reloaded: added t');
  writeConfig(path('.bulkhead', 'mcp.local.json'), { t: scripted({}), u: scripted({}) });
  await says(resident, 'reloaded: added u');
});

describe('a resident that is killed', () => {
  test('in the middle of a call: the call is unknown and never repeated, the next ones need no resident', async () => {
    const config = honest();
    const resident = await up('-c', config);
    watch(await pidFrom(path('pid')));
    const call = start(['call', 's.hang', '-c', config], { cwd: path() });
    await recorded(path('record'), ({ methods }) => methods.includes('tools/call'));
    resident.child.kill('SIGKILL');
    const ended = await call.ended;
    expect(ended).toMatchObject({ code: 4, stdout: '' });
    expect(ended.stderr).toMatch(/may have done its work.*\[OUTCOME_UNKNOWN\]/);
    await resident.ended;
    expect(readRecord(path('record')).methods.filter((method) => method === 'tools/call')).toHaveLength(1);
    expect(await inDir(['call', 's.echo', 'text=alone', '-c', config])).toMatchObject({
      code: 0,
      stdout: 'alone\n',
    });
    expect(launches()).toBe(2);
    expect((await inDir(['ps'])).stderr).toContain('no resident is up');
    await up('-c', config);
    expect(await inDir(['call', 's.echo', 'text=back', '-c', config])).toMatchObject({
      code: 0,
      stdout: 'back\n',
    });
  });

  test('between two commands, with its socket still there: nothing is lost', async () => {
    const config = honest();
    const resident = await up('-c', config);
    watch(await pidFrom(path('pid')));
    const [entry] = listEntries();
    resident.child.kill('SIGKILL');
    await resident.ended;
    // The number may be somebody else's by now: only the dead socket tells.
    writeFileSync(
      `${path('run')}/bulkhead/control/${entry?.name}.json`,
      JSON.stringify({ ...entry, pid: process.pid }),
    );
    expect(await inDir(['call', 's.echo', 'text=alone', '-c', config])).toMatchObject({
      code: 0,
      stdout: 'alone\n',
      stderr: '',
    });
    expect((await inDir(['down', '-c', config])).code).toBe(0);
    expect(readEntry(entry?.name ?? '')).toBeUndefined();
    await up('-c', config);
  });
});

test('a resident that is stuck is not waited for: lookups go elsewhere, a call that was sent is unknown', async () => {
  const resident = await up('-c', honest(), '--name', 'stuck');
  await pidFrom(path('pid'));
  const entry = readEntry('stuck');
  if (entry === undefined) throw new Error('there is no entry "stuck"');
  const client = new ControlClient(entry, { probeMs: 50, answerMs: 200 });
  await client.find('s.echo');
  resident.child.kill('SIGSTOP');
  try {
    const [found, called] = await Promise.all([
      failureOf(client.find('s.echo')),
      failureOf(client.call({ server: 's', tool: 'echo', args: '{}' })),
    ]);
    expect(found).toMatchObject({ code: 'CONNECTION_LOST', message: /does not answer any more/ });
    expect(called.code).toBe('OUTCOME_UNKNOWN');
  } finally {
    resident.child.kill('SIGCONT');
  }
});

describe('looking at it and commanding it', () => {
  test('status is a table of every server, and its exit status says whether all is well', async () => {
    const config = writeConfig(path('c.json'), {
      s: scripted({ pidFile: path('pid') }),
      gone: { command: 'no-such-program' },
    });
    await up('-c', config);
    await pidFrom(path('pid'));
    expect((await inDir(['call', 's.fail', '-c', config])).code).toBe(5);
    const sick = await inDir(['status', '-c', config]);
    expect(sick.code).toBe(4);
    expect(sick.stdout).toMatch(/gone +quarantined.*no-such-program/);
    expect(sick.stdout).toMatch(/s +ready +file +stdio +legacy +\d+ +0 +0 +1 +1 /);
    expect((await inDir(['disable', 'gone', '-c', config])).code).toBe(0);
    const well = await inDir(['status', '-v', '-c', config]);
    expect(well.code).toBe(0);
    expect(well.stdout).toContain('s.echo');
  });

  test('status --watch goes on until it is interrupted', async () => {
    const config = honest();
    await up('-c', config);
    const watching = start(['status', '--watch', '--json', '-c', config], { cwd: path() });
    await eventually(
      () => parseLines(watching.stdout().replace(/[^\n]*$/, '')).length >= 2,
      () => 'two looks',
    );
    watching.child.kill('SIGINT');
    expect((await watching.ended).code).toBe(130);
  });

  test('restart, stop, start and drain do what they say', async () => {
    const config = honest();
    await up('-c', config);
    const first = await pidFrom(path('pid'));
    const restarted = await inDir(['restart', 's', '-c', config]);
    expect(restarted.stderr).toContain('server "s" is ready');
    expect(await pidFrom(path('pid'))).not.toBe(first);
    expect((await inDir(['stop', '--all', '-c', config])).stderr).toContain('server "s" is stopped');
    expect((await inDir(['status', '-c', config])).code).toBe(0);
    expect((await inDir(['start', 's', '-c', config])).stderr).toContain('server "s" is ready');
    expect((await inDir(['drain', 's', '--timeout', '1s', '-c', config])).stderr).toContain(
      'server "s" is stopped',
    );
    expect((await inDir(['restart', '--failed', '-c', config])).stderr).toContain('no server has failed');
    expect(await inDir(['restart', '-c', config])).toMatchObject({ code: 1 });
    expect((await inDir(['stop', 'x', '-c', config])).stderr).toContain('UNKNOWN_SERVER');
  });

  test('events and logs, as they are and as they come', async () => {
    const config = honest();
    await up('-c', config);
    await inDir(['call', 's.stderr', 'text=written\n', '-c', config]);
    await expect
      .poll(async () => (await inDir(['logs', 's', '-n', '1', '-c', config])).stdout)
      .toContain('written');
    const listed = parseLines((await inDir(['events', '--json', '-c', config])).stdout);
    expect(listed).toContainEqual(
      expect.objectContaining({ event: 'state', data: expect.objectContaining({ state: 'ready' }) }),
    );
    const following = start(['events', '-f', '-c', config], { cwd: path() });
    await eventually(
      () => following.stdout().includes('ready'),
      () => 'the latest events',
    );
    await inDir(['stop', 's', '-c', config]);
    await eventually(
      () => following.stdout().includes('s stopped'),
      () => 'the event that came',
    );
    await inDir(['down', '-c', config]);
    expect(await following.ended).toMatchObject({ code: 0 });
  });
});

describe('the page about the command line', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/cli.md', import.meta.url)), 'utf8');
  const section = page.slice(page.indexOf('## Servers that stay'), page.indexOf('## Exit status'));
  const commands = [
    'up',
    'down',
    'ps',
    'status',
    'events',
    'logs',
    'start',
    'stop',
    'restart',
    'enable',
    'disable',
    'drain',
  ];

  test.each(commands)('names %s and each of its options', async (command) => {
    const { stdout } = await inDir([command, '--help']);
    const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option);
    expect(options).toContain('--json');
    expect(section).toContain(command);
    for (const option of options) if (option !== '--help') expect(section).toContain(`\`${option}`);
  });
});
