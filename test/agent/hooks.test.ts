/** Hooks before a call, with real processes: what they are told, what they decide, and what their failures mean. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { alive, useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { failureOf } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';
import { callOf, command, lines, pre, useHooks } from './hooks-setting.js';

const census = useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const { environment, fileOf, load, problems, start, startWith, write } = useHooks(directory);

describe('a command hook before a call', () => {
  it('is told the call as JSON and lets it go on', async () => {
    const hooks = await startWith(pre(command('record', directory('told'))));
    const decision = await hooks.preToolUse(callOf({ sql: 'select 1' }));
    expect(decision).toEqual({ decision: 'allow', args: { sql: 'select 1' }, changedBy: [] });
    expect(lines(directory('told'))).toEqual([
      {
        event: 'PreToolUse',
        session: 'session-1',
        cwd: directory(),
        callId: 'call-1',
        tool: 'mcp__db__query',
        server: 'db',
        rawTool: 'query',
        capabilities: ['read'],
        args: { sql: 'select 1' },
      },
    ]);
  });

  it('blocks with exit code 2, and its stderr is the reason', async () => {
    const hooks = await startWith(pre(command('block', 'never on a Friday')));
    expect(await hooks.preToolUse(callOf())).toMatchObject({
      decision: 'block',
      reason: 'never on a Friday',
      hook: `${fileOf('user')}:1`,
    });
    expect(problems).toEqual([]);
  });

  it('blocks by JSON', async () => {
    const hooks = await startWith(
      pre(command('answer', '{"decision": "block", "reason": "not this table"}')),
    );
    expect(await hooks.preToolUse(callOf())).toMatchObject({ decision: 'block', reason: 'not this table' });
  });

  it('replaces arguments, and the next hook sees what the one before left', async () => {
    const hooks = await startWith(
      pre(
        command('merge', '{"limit": 10}'),
        command('merge', '{"limit": 5, "safe": true}'),
        command('record', directory('told')),
      ),
    );
    const decision = await hooks.preToolUse(callOf({ sql: 'x' }));
    expect(decision).toMatchObject({ decision: 'allow', args: { sql: 'x', limit: 5, safe: true } });
    expect(decision.decision === 'allow' && decision.changedBy).toHaveLength(2);
    expect(lines(directory('told'))[0]?.args).toEqual({ sql: 'x', limit: 5, safe: true });
  });

  it('that blocks ends the row: no later hook runs', async () => {
    const hooks = await startWith(pre(command('block', 'no'), command('record', directory('told'))));
    await hooks.preToolUse(callOf());
    expect(existsSync(directory('told'))).toBe(false);
  });

  it('may print a line for people, which decides nothing', async () => {
    const hooks = await startWith(pre(command('answer', 'checked, all fine')));
    expect(await hooks.preToolUse(callOf())).toMatchObject({ decision: 'allow' });
  });

  it.each([
    ['an exit code that is neither 0 nor 2', command('exit', '1'), 'it ended with exit code 1: broken'],
    [
      'output that only starts like JSON',
      command('answer', '{"decision": "blo'),
      'starts like a JSON object',
    ],
    ['an unknown decision', command('answer', '{"decision": "maybe"}'), 'neither "allow" nor "block"'],
    [
      'arguments that are no object',
      command('answer', '{"args": [1]}'),
      '`args` of its answer is no JSON object',
    ],
    ['a command that does not exist', { type: 'command', command: 'no-such-guard' }, 'exit code 127'],
  ])('fails by %s: the call is blocked, or goes on where the file says so', async (_what, entry, said) => {
    const closed = await startWith(pre(entry));
    const blocked = await closed.preToolUse(callOf());
    expect(blocked.decision === 'block' && blocked.reason).toContain(said);
    expect(problems[0]?.message).toContain(said);

    const open = await startWith(pre({ ...entry, onError: 'allow' }, command('merge', '{"next": true}')));
    expect(await open.preToolUse(callOf({}))).toMatchObject({ decision: 'allow', args: { next: true } });
    expect(problems[1]?.message).toContain(said);
  });

  it('that prints without end is stopped, and counts as failed', async () => {
    const hooks = await startWith(pre(command('flood')));
    const decision = await hooks.preToolUse(callOf());
    expect(decision.decision === 'block' && decision.reason).toContain('printed more than 65536 bytes');
  });

  it('that hangs is stopped after its timeout, with everything it started', async () => {
    const hooks = await startWith(pre(command('hang', directory('pids'), { timeoutMs: 4_000 })));
    const decision = await hooks.preToolUse(callOf());
    expect(decision.decision === 'block' && decision.reason).toContain('took longer than 4000 ms');
    const pids = readFileSync(directory('pids'), 'utf8').split(' ').map(Number);
    expect(pids).toHaveLength(2);
    for (const pid of pids) census.watch(pid);
    await hooks.close();
    expect(pids.filter(alive)).toEqual([]);
  });

  it('is stopped when the call is cancelled', async () => {
    const hooks = await startWith(pre(command('hang', directory('pids'))));
    const abort = new AbortController();
    const asked = failureOf(hooks.preToolUse(callOf(), { signal: abort.signal }));
    await eventually(
      () => existsSync(directory('pids')),
      () => 'the hook to start',
    );
    abort.abort();
    expect(await asked).toMatchObject({ code: 'CANCELLED' });
    expect(process.listenerCount('exit')).toBeGreaterThan(0);
  });

  it('ends with everything it leaves behind, without waiting for it', async () => {
    const hooks = await startWith(pre(command('leave', directory('pid'))));
    expect(await hooks.preToolUse(callOf())).toMatchObject({ decision: 'allow' });
    const pid = Number(readFileSync(directory('pid'), 'utf8'));
    census.watch(pid);
    await hooks.close();
    expect(alive(pid)).toBe(false);
  });

  it('does not outlive a host that leaves', async () => {
    const host = fileURLToPath(new URL('../fixtures/hooks/leaving-host.mjs', import.meta.url));
    const entry = command('hang', directory('pids'));
    const child = spawn(process.execPath, [host, entry.command, directory('pids')], { stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([7, null]);
    const pids = readFileSync(directory('pids'), 'utf8').split(' ').map(Number);
    await eventually(
      () => !pids.some(alive),
      () => `the end of ${pids.filter(alive).join(' and ')}`,
    );
  });

  it('gets an allow-list of the host environment and what its entry says', async () => {
    const env = environment({ SECRET_KEY: 'hunter2', LANG: 'C', GUARD_TOKEN: 'abc' });
    write('user', {
      hooks: pre(command('env', directory('env'), { env: { TOKEN: `\${GUARD_TOKEN}`, LANG: null } })),
    });
    const { rules } = await load({ env });
    const hooks = await start({ rules, env });
    await hooks.preToolUse(callOf());
    const seen = JSON.parse(readFileSync(directory('env'), 'utf8')) as Record<string, string>;
    expect(seen).toMatchObject({
      TOKEN: 'abc',
      BULKHEAD_HOOK_EVENT: 'PreToolUse',
      BULKHEAD_SESSION: 'session-1',
      BULKHEAD_PROJECT_DIR: directory(),
    });
    expect(seen).not.toHaveProperty('SECRET_KEY');
    expect(seen).not.toHaveProperty('GUARD_TOKEN');
    expect(seen).not.toHaveProperty('LANG');
  });
});

describe('a function as a hook', () => {
  it('has the last word behind the files, with a copy of its own', async () => {
    const args = { list: [1] };
    const hooks = await startWith(pre(command('merge', '{"file": true}')), {
      functions: [
        {
          event: 'PreToolUse',
          name: 'meddler',
          run: (input) => {
            (input.args.list as number[]).push(2);
            return undefined;
          },
        },
        { event: 'PreToolUse', name: 'last', run: ({ args: given }) => ({ args: { ...given, last: true } }) },
      ],
    });
    const decision = await hooks.preToolUse(callOf(args));
    expect(decision).toMatchObject({ args: { list: [1], file: true, last: true } });
    expect(decision.decision === 'allow' && decision.changedBy.at(-1)).toBe('last');
    expect(args).toEqual({ list: [1] });
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no idea')), 'no idea'],
    ['never settles', () => new Promise<undefined>(() => {}), 'took longer than 50 ms'],
    ['gives arguments that are no JSON', () => ({ args: { n: 1n } }), 'no JSON object'],
  ])('that %s blocks, and does not when its failure is allowed', async (_what, run, said) => {
    const guard = { event: 'PreToolUse', name: 'guard', timeoutMs: 50, run } as const;
    const closed = await start({ functions: [guard] });
    const decision = await closed.preToolUse(callOf());
    expect(decision.decision === 'block' && decision.reason).toContain(said);
    const open = await start({ functions: [{ ...guard, onError: 'allow' }] });
    expect(await open.preToolUse(callOf())).toMatchObject({ decision: 'allow' });
  });

  it('is aborted at its timeout', async () => {
    let told: AbortSignal | undefined;
    const hooks = await start({
      functions: [
        {
          event: 'PreToolUse',
          name: 'slow',
          timeoutMs: 20,
          run: (_input, signal) => {
            told = signal;
            return new Promise<undefined>(() => {});
          },
        },
      ],
    });
    await hooks.preToolUse(callOf());
    expect(told?.aborted).toBe(true);
  });

  it('cannot judge arguments that are no JSON, so they are blocked', async () => {
    const hooks = await start({ functions: [{ event: 'PreToolUse', name: 'guard', run: () => undefined }] });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const decision = await hooks.preToolUse(callOf(cyclic));
    expect(decision.decision === 'block' && decision.reason).toContain('are no JSON');
  });
});
