/** The audit hook on a real disk: one line per call, in order, for its owner's eyes, and never in a call's way. */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { BulkheadError } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import { type AuditOptions, type AuditRecord, auditHook } from '../../packages/runtime/src/agent/audit.js';
import type { CallEnd, HookProblem } from '../../packages/runtime/src/agent/hooks/event.js';
import { createHooks } from '../../packages/runtime/src/agent/hooks/hooks.js';
import { argumentsHash, redacted } from '../../packages/runtime/src/audit/arguments.js';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();

const done: CallEnd = { output: { isError: false, content: [] }, durationMs: 1.23456 };
const callOf = (callId: string, args: Record<string, unknown> = {}) => ({
  callId,
  args,
  tool: {
    name: 'mcp__db__query',
    identity: { kind: 'mcp', server: 'db', tool: 'query' },
    capabilities: new Set<never>(),
  } as const,
});

/** Runs the calls through an audit; gives the problems that were reported. */
async function audit(
  options: Partial<AuditOptions>,
  calls: [ReturnType<typeof callOf>, CallEnd][],
): Promise<HookProblem[]> {
  const problems: HookProblem[] = [];
  const hooks = await createHooks({
    session: 'session-1',
    functions: [auditHook({ file: directory('logs', 'audit.jsonl'), ...options })],
    onProblem: (problem) => problems.push(problem),
    queueMax: 10_000,
  });
  for (const [call, end] of calls) hooks.postToolUse(call, end);
  await hooks.close();
  return problems;
}

const recordsOf = (file: string): AuditRecord[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditRecord);

describe('the audit', () => {
  it('writes who called what, how it ended, and the hash of the arguments', async () => {
    const args = { sql: 'select 1', deep: { b: 1, a: [2] } };
    const denied: CallEnd = { error: new BulkheadError('DENIED', 'no'), durationMs: 0 };
    expect(
      await audit({}, [
        [callOf('1', args), done],
        [callOf('2'), denied],
      ]),
    ).toEqual([]);
    const [first, second] = recordsOf(directory('logs', 'audit.jsonl'));
    expect(first).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      session: 'session-1',
      callId: '1',
      server: 'db',
      tool: 'query',
      outcome: 'ok',
      durationMs: 1.235,
      argsSha256: argumentsHash({ deep: { a: [2], b: 1 }, sql: 'select 1' }),
    });
    expect(second).toMatchObject({ callId: '2', outcome: 'rejected', code: 'DENIED' });
    expect(first?.argsSha256).not.toBe(second?.argsSha256);
  });

  it('keeps the order of thousands of calls', async () => {
    const ids = Array.from({ length: 5_000 }, (_, index) => String(index));
    await audit(
      {},
      ids.map((id) => [callOf(id), done]),
    );
    expect(recordsOf(directory('logs', 'audit.jsonl')).map(({ callId }) => callId)).toEqual(ids);
  });

  it('is for its owner only, even when the file was open to others before', async () => {
    await audit({}, [[callOf('1'), done]]);
    expect(statSync(directory('logs')).mode & 0o777).toBe(0o700);
    const old = directory('old.jsonl');
    writeFileSync(old, '');
    chmodSync(old, 0o644);
    await audit({ file: old }, [[callOf('1'), done]]);
    expect([directory('logs', 'audit.jsonl'), old].map((file) => statSync(file).mode & 0o777)).toEqual([
      0o600, 0o600,
    ]);
  });

  it('goes on where an earlier run ended', async () => {
    await audit({}, [[callOf('1'), done]]);
    await audit({}, [[callOf('2'), done]]);
    expect(recordsOf(directory('logs', 'audit.jsonl')).map(({ callId }) => callId)).toEqual(['1', '2']);
  });

  it('turns the file at its size and keeps one older, without losing a line in between', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => String(index));
    await audit(
      { maxBytes: 4_096 },
      ids.map((id) => [callOf(id), done]),
    );
    const file = directory('logs', 'audit.jsonl');
    const kept = [...recordsOf(`${file}.1`), ...recordsOf(file)].map(({ callId }) => callId);
    expect(kept).toEqual(ids.slice(-kept.length));
    expect(statSync(`${file}.1`).size).toBeLessThan(5_000);
    expect(existsSync(`${file}.2`)).toBe(false);
  });

  it('says once that it cannot write, and counts what is lost', async () => {
    mkdirSync(directory('logs', 'audit.jsonl'), { recursive: true });
    const problems = await audit(
      {},
      [1, 2, 3].map((id) => [callOf(String(id)), done]),
    );
    expect(problems.map(({ hook }) => hook)).toEqual(['audit', 'audit']);
    expect(problems[0]?.message).toContain('calls go on without their lines');
    expect(problems[1]?.message).toContain('3 lines were lost');
  });

  it('writes arguments without secrets when asked to', async () => {
    const args = {
      user: 'ada',
      api_key: 'hunter2',
      nested: [{ Authorization: 'Bearer x', note: 'n'.repeat(300) }],
    };
    await audit({ args: 'redacted' }, [[callOf('1', args), done]]);
    const [record] = recordsOf(directory('logs', 'audit.jsonl'));
    expect(record?.args).toEqual({
      user: 'ada',
      api_key: '[redacted]',
      nested: [{ Authorization: '[redacted]', note: `${'n'.repeat(200)}[… 100 more]` }],
    });
    expect(record).not.toHaveProperty('argsSha256');
  });

  it('watches only what it is asked to', async () => {
    await audit({ match: { server: 'other' } }, [[callOf('1'), done]]);
    expect(existsSync(directory('logs'))).toBe(false);
  });
});

describe('a redacted copy', () => {
  it('is bounded in depth and width', () => {
    let deep: unknown = 'end';
    for (let level = 0; level < 50; level++) deep = { deep };
    expect(JSON.stringify(redacted(deep))).toContain('[deeper values left out]');
    const wide = redacted({
      list: Array(1_000).fill(0),
      ...Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`k${i}`, i])),
    });
    expect(JSON.stringify(wide)).toContain('[… 950 more]');
    expect(JSON.stringify(wide)).toContain('[50 more]');
  });
});
