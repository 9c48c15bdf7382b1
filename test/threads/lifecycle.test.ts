/** Changing the set of servers while it runs; sleeping, draining and disabled servers. */
import { describe, expect, it } from 'vitest';
import { alive, useCensus } from '../support/census.js';
import { descendants } from '../support/processes.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const launches = (record: string) =>
  readRecord(record).events.filter(({ event }) => event === 'launch').length;
const scriptedProcesses = () => descendants().filter(({ command }) => command.includes('scripted-server'));

describe('reconfigure', () => {
  it('starts what is new, stops what is gone, replaces what changed and touches nothing else', async () => {
    const [kept, gone] = [directory('kept.jsonl'), directory('gone.pid')];
    const runtime = await start({
      kept: scripted({ record: kept }),
      changed: scripted({ instructions: 'one' }),
      gone: scripted({ pidFile: gone }),
    });
    await runtime.ready();
    const gonePid = await pidFrom(gone);
    const report = await runtime.reconfigure({
      servers: {
        kept: scripted({ record: kept }),
        changed: scripted({ instructions: 'two' }),
        added: scripted({}),
        broken: { command: 1 },
      },
    });
    expect(report).toMatchObject({ added: ['added'], changed: ['changed'], removed: ['gone'] });
    expect(report.problems.join()).toContain('broken');
    await Promise.all(['changed', 'added'].map((name) => reaches(runtime, name, 'ready')));
    expect(runtime.server('changed').instructions).toBe('two');
    expect(launches(kept)).toBe(1);
    expect(runtime.tools().some(({ server }) => server === 'gone')).toBe(false);
    expect(() => runtime.server('gone')).toThrow(/there is no server "gone"/);
    await runtime.close();
    expect(alive(gonePid)).toBe(false);
  });

  it('fifty times with the same entries during a slow start starts one process (B153)', async () => {
    const record = directory('record.jsonl');
    const servers = { slow: scripted({ record, startDelayMs: 1_000 }) };
    const runtime = await start(servers);
    await Promise.all(Array.from({ length: 50 }, () => runtime.reconfigure({ servers })));
    await runtime.ready();
    expect(launches(record)).toBe(1);
  });

  it('five times with a changed entry leaves one process (B039)', async () => {
    const runtime = await start({ s: scripted({ instructions: '0' }) });
    for (let i = 1; i <= 5; i++)
      await runtime.reconfigure({ servers: { s: scripted({ instructions: `${i}` }) } });
    await reaches(runtime, 's', 'ready');
    expect(runtime.server('s').instructions).toBe('5');
    expect(scriptedProcesses().length).toBe(1);
  });

  it('ends the calls of a server that it removes', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }), other: scripted({}) });
    await runtime.ready();
    const call = failureOf(runtime.callTool('mcp__s__hang'));
    await recorded(record, ({ methods }) => methods.includes('tools/call'));
    await runtime.reconfigure({ servers: { other: scripted({}) } });
    expect(await call).toMatchObject({ code: 'OUTCOME_UNKNOWN', data: { sent: true } });
  });
});

describe('a disabled server', () => {
  it('stays down, says so, and comes back by hand', async () => {
    const runtime = await start({ s: { ...scripted({}), disabled: true } });
    await reaches(runtime, 's', 'disabled');
    expect(await failureOf(runtime.server('s').callTool('echo'))).toMatchObject({
      code: 'NOT_READY',
      data: { state: 'disabled' },
    });
    await runtime.server('s').enable();
    await reaches(runtime, 's', 'ready');
    await runtime.server('s').disable();
    await reaches(runtime, 's', 'disabled');
    expect(scriptedProcesses()).toEqual([]);
  });

  it('that is disabled during its backoff is not revived (B157)', async () => {
    const script = { ...scripted({ exitAfter: { requests: 2, code: 1 } }), protocol: 'legacy' };
    const runtime = await start({ s: script }, { limits: { backoffBaseMs: 60_000, backoffCapMs: 60_000 } });
    await reaches(runtime, 's', 'backoff');
    await runtime.server('s').disable();
    await reaches(runtime, 's', 'disabled');
    expect((await runtime.status()).servers[0]?.spawns).toBe(1);
  });
});

describe('a lazy server', () => {
  it('starts with its first call, sleeps again after idleness and wakes for the next one', async () => {
    const record = directory('record.jsonl');
    const entry = { ...scripted({ record }), lifecycle: 'lazy', idleStopMs: 300 };
    const runtime = await start({ s: entry }, { limits: { watchdogRoundMs: 50 } });
    expect((await runtime.status()).servers[0]).toMatchObject({ state: 'stopped', spawns: 0 });
    expect((await runtime.server('s').callTool('echo', { text: 'wake' })).text()).toBe('wake');
    await reaches(runtime, 's', 'stopped');
    expect(runtime.server('s').reason).toMatchObject({ kind: 'idle' });
    expect(scriptedProcesses()).toEqual([]);
    expect((await runtime.callTool('mcp__s__echo', { text: 'again' })).text()).toBe('again');
    expect(launches(record)).toBe(2);
  });

  it('lists its tools before any process exists, from an earlier run of the same command', async () => {
    process.env.XDG_CACHE_HOME = directory('cache');
    try {
      const entry = { ...scripted({ toolCount: 3 }), lifecycle: 'lazy' };
      const first = await start({ s: entry });
      await first.server('s').callTool('echo', { text: 'x' });
      const names = first.tools().map(({ fullName }) => fullName);
      await first.close();
      const second = await start({ s: entry, other: { ...scripted({ toolCount: 4 }), lifecycle: 'lazy' } });
      expect(second.tools().map(({ fullName }) => fullName)).toEqual(names);
      expect(scriptedProcesses()).toEqual([]);
      expect((await second.callTool('mcp__s__echo', { text: 'y' })).text()).toBe('y');
    } finally {
      delete process.env.XDG_CACHE_HOME;
    }
  });

  it('that was stopped by hand is not woken by a call', async () => {
    const runtime = await start({ s: { ...scripted({}), lifecycle: 'lazy' } });
    await runtime.ready({ servers: ['s'] });
    await runtime.server('s').stop();
    expect(await failureOf(runtime.callTool('mcp__s__echo'))).toMatchObject({ code: 'NOT_READY' });
  });
});

describe('drain', () => {
  it('lets the calls in flight end, refuses new ones, and then stops', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    const flying = runtime.callTool('mcp__s__sleep', { ms: 500 });
    await recorded(record, ({ methods }) => methods.includes('tools/call'));
    const drained = runtime.server('s').drain();
    await reaches(runtime, 's', 'draining');
    expect(await failureOf(runtime.callTool('mcp__s__echo'))).toMatchObject({
      code: 'DRAINING',
      outcome: 'rejected',
    });
    expect((await flying).outcome).toBe('ok');
    await drained;
    expect(runtime.server('s').state).toBe('stopped');
  });

  it('gives up on a call that hangs, after its time', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    const flying = failureOf(runtime.callTool('mcp__s__hang'));
    await recorded(record, ({ methods }) => methods.includes('tools/call'));
    await runtime.drain({ timeoutMs: 200 });
    expect(await flying).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });
});

describe('fifty broken servers', () => {
  it('do not starve two good ones', async () => {
    const broken = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [
        `broken${i}`,
        i % 2 === 0
          ? { command: process.execPath, args: ['-e', 'process.exit(1)'] }
          : { command: '/bin/sh', args: ['-c', 'exec sleep 1000'] },
      ]),
    );
    const runtime = await start(
      { ...broken, good1: scripted({}), good2: scripted({}) },
      { limits: { eofGraceMs: 100, termGraceMs: 500 } },
    );
    const answers = await Promise.all(
      ['good1', 'good2'].map((name) =>
        runtime.server(name).callTool('echo', { text: name }, { timeoutMs: 30_000 }),
      ),
    );
    expect(answers.map((answer) => answer.text())).toEqual(['good1', 'good2']);
    expect(runtime.server('broken1').state).not.toBe('ready');
  });
});
