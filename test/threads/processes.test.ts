/** Processes: what is started is ended and reaped, on every path, and the way it died reaches the caller. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { alive, useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { descendants } from '../support/processes.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

const census = useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);
const brisk = { eofGraceMs: 300, termGraceMs: 300, killGraceMs: 1_000 };

describe('after close', () => {
  it('a launcher, and the real server behind it, are gone (B022)', async () => {
    const pidFile = directory('server.pid');
    const { args } = scripted({ pidFile, ignoreEof: true, keepAliveMs: 1_000 });
    const shell = `'${process.execPath}' '${args[0]}' '${args[1]}'; true`;
    const runtime = await start({ s: { command: '/bin/sh', args: ['-c', shell] } }, { limits: brisk });
    await runtime.ready();
    const pid = await pidFrom(pidFile);
    census.watch(pid);
    const report = await runtime.close();
    expect(report.servers[0]).toMatchObject({ name: 's', finalState: 'stopped' });
    expect(report.servers[0]?.pids.every(({ gone }) => gone)).toBe(true);
    expect(alive(pid)).toBe(false);
  });

  it.each([{}, { holdStdout: true }, { ignoreSigterm: true }])(
    'grandchildren are gone: %o (B022, B023)',
    async (form) => {
      const pidFile = directory('grandchild.pid');
      const runtime = await start({ s: scripted({ grandchild: { pidFile, ...form } }) }, { limits: brisk });
      await runtime.ready();
      const pid = await pidFrom(pidFile);
      census.watch(pid);
      await runtime.close();
      expect(alive(pid)).toBe(false);
    },
  );

  it('a server that ignores SIGTERM and the end of its stdin is gone all the same (B026)', async () => {
    const pidFile = directory('stubborn.pid');
    const script = { pidFile, ignoreSigterm: true, ignoreEof: true, keepAliveMs: 1_000 };
    const runtime = await start({ s: scripted(script) }, { limits: brisk });
    await runtime.ready();
    census.watch(await pidFrom(pidFile));
    const report = await runtime.close();
    expect(report.servers[0]?.pids.every(({ gone }) => gone)).toBe(true);
    expect(report.tookMs).toBeLessThan(5_000);
  });

  it('a server that leaves only on EOF has left by itself, without a signal (B027)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record, keepAliveMs: 1_000 }) });
    await runtime.ready();
    await runtime.close();
    const { events } = readRecord(record);
    expect(events.map(({ event }) => event)).toContain('eof');
    expect(events.map(({ event }) => event)).not.toContain('signal');
  });

  it('a stopped process (SIGSTOP) is gone', async () => {
    const pidFile = directory('stopped.pid');
    const runtime = await start({ s: scripted({ pidFile }) }, { limits: brisk });
    await runtime.ready();
    const pid = await pidFrom(pidFile);
    process.kill(pid, 'SIGSTOP');
    await runtime.close();
    expect(alive(pid)).toBe(false);
  });

  it('with no time left, everything is killed at once', async () => {
    const script = { ignoreSigterm: true, ignoreEof: true, keepAliveMs: 1_000 };
    const runtime = await start({ a: scripted(script), b: scripted(script) });
    await runtime.ready();
    const report = await runtime.close({ deadlineMs: 0 });
    expect(report.tookMs).toBeLessThan(2_000);
  });
});

describe('no process is left', () => {
  it('when initialize is never answered (B023)', async () => {
    const pidFile = directory('grandchild.pid');
    const script = { grandchild: { pidFile }, rules: [{ method: 'initialize', reply: null }] };
    const runtime = await start(
      { s: { ...scripted(script), startupTimeoutMs: 600 } },
      { limits: { ...brisk, restartMax: 0 } },
    );
    const report = await runtime.ready({ timeoutMs: 10_000 });
    expect(report.failed[0]).toMatchObject({ state: 'quarantined', reason: { kind: 'start-timeout' } });
    expect(report.failed[0]?.reason?.message).toContain('startupTimeoutMs (600 ms)');
    expect(alive(await pidFrom(pidFile))).toBe(false);
    expect(descendants().filter(({ command }) => command.includes('scripted-server'))).toEqual([]);
  });

  it('when a server is stopped, started and restarted by hand', async () => {
    const pidFile = directory('s.pid');
    const runtime = await start({ s: scripted({ pidFile }) }, { limits: brisk });
    await runtime.ready();
    const first = await pidFrom(pidFile);
    await runtime.server('s').stop();
    expect([runtime.server('s').state, alive(first)]).toEqual(['stopped', false]);
    expect(await failureOf(runtime.callTool('mcp__s__echo'))).toMatchObject({ code: 'NOT_READY' });
    await runtime.server('s').start();
    await reaches(runtime, 's', 'ready');
    const second = await eventually(
      () => [Number(readFileSync(pidFile, 'utf8'))].find((pid) => pid !== first),
      () => 'a second pid',
    );
    await runtime.server('s').restart();
    await eventually(
      () => !alive(second),
      () => 'the second process to end',
    );
    await reaches(runtime, 's', 'ready');
    expect(runtime.server('s').generation).toBe(3);
    expect((await runtime.callTool('mcp__s__echo', { text: 'third' })).text()).toBe('third');
  });
});

describe('a server that dies', () => {
  it('in a call gives exit code and stderr, and is there again for the next one (B155)', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    await runtime.callTool('mcp__s__stderr', { text: 'assertion failed: x > 0' });
    const error = await failureOf(runtime.callTool('mcp__s__exit', { code: 7 }, { timeoutMs: 1_800_000 }));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', data: { reason: { exitCode: 7 } } });
    expect(error.message).toContain('exited with code 7; last on its stderr: assertion failed');
    expect((await runtime.callTool('mcp__s__echo', { text: 'back' })).text()).toBe('back');
  });

  it('before the handshake is named with its traceback, and parked after a few tries (B042, B154)', async () => {
    const exitAtStart = {
      code: 1,
      stderr: 'Traceback (most recent call last):\nImportError: no module named x\n',
    };
    const runtime = await start({ s: scripted({ exitAtStart }) });
    const report = await runtime.ready();
    expect(report.failed[0]).toMatchObject({ state: 'quarantined', reason: { kind: 'exit', exitCode: 1 } });
    expect(report.failed[0]?.reason?.message).toContain('ImportError: no module named x');
    // Three, and one that cost nothing: it might have left because it was asked for its era.
    expect((await runtime.status()).servers[0]?.spawns).toBe(4);
  });

  it('between spawn and first write is data, never an exception: 30 times over (B030)', async () => {
    const servers = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `s${String(i).padStart(2, '0')}`,
        { command: process.execPath, args: ['-e', `process.exit(${i})`] },
      ]),
    );
    const runtime = await start(servers, { limits: { earlyExitMax: 1 } });
    const report = await runtime.ready();
    expect(report.failed.map(({ reason }) => reason?.exitCode)).toEqual(
      Array.from({ length: 30 }, (_, i) => i),
    );
  });

  it('in mid-handshake with calls waiting settles them with the reason (B031)', async () => {
    const exitAfter = { requests: 1, answered: false, code: 4 };
    const runtime = await start({ s: scripted({ exitAfter }) }, { limits: { earlyExitMax: 1 } });
    const errors = await Promise.all([1, 2].map(() => failureOf(runtime.server('s').callTool('echo'))));
    for (const error of errors)
      expect(error).toMatchObject({ code: 'NOT_READY', data: { reason: { exitCode: 4 } } });
  });

  it.each([
    ['a missing command', { command: 'no-such-command-here' }, 'was not found'],
    ['a command that is no program', { command: __filename }, 'not executable'],
    [
      'a missing cwd',
      { command: process.execPath, cwd: '/no/such/directory' },
      'does not exist; check "cwd"',
    ],
  ])('of %s is parked at once, not retried (B154)', async (_, entry, words) => {
    const runtime = await start({ s: entry });
    const report = await runtime.ready();
    expect(report.failed[0]?.state).toBe('quarantined');
    expect(report.failed[0]?.reason?.message).toContain(words);
  });

  it('by kill -9 while a call flies and one comes after: both settle soon (B155)', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('s.pid')];
    const runtime = await start({ s: { ...scripted({ record, pidFile }), callTimeoutMs: 1_800_000 } });
    await runtime.ready();
    const flying = failureOf(runtime.callTool('mcp__s__hang'));
    await recorded(record, ({ methods }) => methods.includes('tools/call'));
    process.kill(await pidFrom(pidFile), 'SIGKILL');
    expect(await flying).toMatchObject({ code: 'OUTCOME_UNKNOWN', data: { reason: { signal: 'SIGKILL' } } });
    expect((await runtime.callTool('mcp__s__echo', { text: 'after' })).text()).toBe('after');
  });

  it('while a grandchild holds its stdout is noticed by its exit, not by the pipe', async () => {
    const [pidFile, grandchildFile] = [directory('s.pid'), directory('g.pid')];
    const script = { pidFile, grandchild: { pidFile: grandchildFile, holdStdout: true } };
    const runtime = await start({ s: scripted(script) }, { limits: brisk });
    await runtime.ready();
    census.watch(await pidFrom(grandchildFile));
    const flying = failureOf(runtime.callTool('mcp__s__hang'));
    process.kill(await pidFrom(pidFile), 'SIGKILL');
    expect(await flying).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });
});

describe('a process gets', () => {
  it('its cwd, absolute or relative to the configuration, and the base directory by default (B035)', async () => {
    mkdirSync(directory('sub'));
    const base = process.cwd();
    const runtime = await start({
      absolute: { ...scripted({}), cwd: directory('sub') },
      relative: { ...scripted({}), cwd: 'test' },
      missing: scripted({}),
    });
    await runtime.ready();
    const cwdOf = async (server: string) => (await runtime.callTool(`mcp__${server}__cwd`)).text();
    expect(await cwdOf('absolute')).toBe(directory('sub'));
    expect(await cwdOf('relative')).toBe(join(base, 'test'));
    expect(await cwdOf('missing')).toBe(base);
  });

  it('the allowed environment with its own entries over it, and none of the secrets (B033, B034)', async () => {
    process.env.BULKHEAD_TEST_SECRET = 'do not pass on';
    try {
      const runtime = await start({ s: { ...scripted({}), env: { X: '1' } } });
      await runtime.ready();
      const env = JSON.parse((await runtime.callTool('mcp__s__env')).text());
      expect(env).toMatchObject({ X: '1', PATH: process.env.PATH });
      expect(env).not.toHaveProperty('BULKHEAD_TEST_SECRET');
    } finally {
      delete process.env.BULKHEAD_TEST_SECRET;
    }
  });

  it('its own log file for stderr, never the terminal (B029)', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    await runtime.callTool('mcp__s__stderr', { text: 'a line for the log' });
    await runtime.close();
    expect(readFileSync(directory('logs', 's.log'), 'utf8')).toContain('a line for the log');
  });
});
