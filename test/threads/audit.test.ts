/** The audit of a runtime: every call once, whichever way it was made and however it ended, from every thread. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { type CallAuditRecord, type RuntimeOptions, rawArguments, runBatch } from '@bulkhead/runtime';
import { argumentsHash } from '@bulkhead/runtime/agent';
import { ControlClient, readEntry } from '@bulkhead/runtime/control/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useAgents } from '../support/agent-thread.js';
import { useCensus } from '../support/census.js';
import { recorded } from '../support/record.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const path = useTempDir();
const start = useRuntime(path);
const agent = useAgents();

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
});
afterEach(() => {
  delete process.env.XDG_RUNTIME_DIR;
});

const auditFile = () => path('audit', 'calls.jsonl');

function records(file = auditFile()): CallAuditRecord[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CallAuditRecord);
}

/** A runtime with an audit and a server whose tool `hang` never answers. */
async function audited(
  audit: Partial<NonNullable<RuntimeOptions['audit']>> = {},
  options: Omit<RuntimeOptions, 'servers'> = {},
) {
  const rules = [{ method: 'tools/call', tool: 'cwd', reply: null }];
  const capabilities = { tools: {}, resources: {} };
  const runtime = await start(
    { s: scripted({ rules, capabilities, record: path('record') }) },
    { audit: { file: auditFile(), ...audit }, ...options },
  );
  await runtime.ready();
  return runtime;
}

/** The call with `flying` among its arguments has come to the server. */
async function flyingThere(): Promise<void> {
  await recorded(path('record'), ({ messages }) =>
    messages.some(({ params }) => JSON.stringify(params ?? {}).includes('flying')),
  );
}

describe('the audit has one line', () => {
  test('for every way in which a call can end', async () => {
    const runtime = await audited();
    const s = runtime.server('s');
    await s.callTool('echo', { b: 1, a: [2] }, { callId: 'mine' });
    await s.callTool('fail', {});
    await failureOf(s.callTool('cwd', {}, { timeoutMs: 50 }));
    await failureOf(s.callTool('echo', {}, { signal: AbortSignal.abort() }));
    await failureOf(s.callTool('echo', { big: 1n }));
    await failureOf(runtime.callTool('mcp__s__nothing', {}));
    const flying = failureOf(s.callTool('cwd', { flying: true }));
    await flyingThere();
    await runtime.close();
    await flying;
    await failureOf(s.callTool('echo', {}));
    const found = records();
    expect(found.map(({ tool, outcome, code }) => [tool, outcome, code])).toEqual([
      ['echo', 'ok', undefined],
      ['fail', 'tool_error', undefined],
      ['cwd', 'timeout', 'TIMEOUT'],
      ['echo', 'cancelled', 'CANCELLED'],
      ['echo', 'rejected', 'INVALID_ARGUMENTS'],
      ['mcp__s__nothing', 'rejected', 'UNKNOWN_TOOL'],
      ['cwd', 'outcome_unknown', 'OUTCOME_UNKNOWN'],
    ]);
    const [first] = found;
    expect(first).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      user: expect.any(String),
      pid: process.pid,
      thread: expect.any(Number),
      session: expect.stringMatching(/^[0-9a-f-]{36}$/),
      callId: 'mine',
      route: 'direct',
      server: 's',
      tool: 'echo',
      outcome: 'ok',
      durationMs: expect.any(Number),
      argsSha256: argumentsHash({ a: [2], b: 1 }),
    });
    expect(found[2]?.durationMs).toBeGreaterThanOrEqual(50);
    expect(new Set(found.map(({ callId }) => callId)).size).toBe(found.length);
    expect(new Set(found.map(({ session }) => session)).size).toBe(1);
    expect(found[5]?.server).toBeNull();
  });

  test('for every way in which a call can be made', async () => {
    const runtime = await audited({}, { control: { name: 'app' } });
    await runtime.callTool('mcp__s__echo', {});
    for await (const _ of runtime.callMany([{ server: 's', tool: 'echo', args: { many: 1 } }]));
    const output = new PassThrough().resume();
    const line = (text: string) => `${JSON.stringify({ server: 's', tool: 'echo', arguments: { text } })}\n`;
    const { ok } = await runBatch({
      runtime,
      input: Readable.from([line('1'), line('2')].map((text) => Buffer.from(text))),
      output,
    });
    expect(ok).toBe(2);
    const entry = readEntry('app');
    if (entry === undefined) throw new Error('there is no entry');
    await new ControlClient(entry).call({ server: 's', tool: 'echo', args: '{}' });
    await runtime
      .server('s')
      .callTool('echo', rawArguments('{"n":12345678901234567890}'), { route: 'agent' });
    await runtime.close();
    expect(records().map(({ route, tool }) => `${route} ${tool}`)).toEqual([
      'direct echo',
      'direct echo',
      'batch echo',
      'batch echo',
      'control echo',
      'agent echo',
    ]);
  });

  test('for what is read and what a prompt is asked with, not for what is only listed', async () => {
    const runtime = await audited();
    const s = runtime.server('s');
    await s.listResources();
    await s.ping();
    await failureOf(s.readResource('test://nothing'));
    await runtime.close();
    expect(records().map(({ route, tool }) => [route, tool])).toEqual([['resource', 'resources/read']]);
  });

  test('for a call that the gate refuses', async () => {
    const runtime = await audited(
      {},
      {
        gate: { check: ({ args }) => (args.no === true ? { allow: false, reason: 'no' } : { allow: true }) },
      },
    );
    await runtime.server('s').callTool('echo', {});
    await failureOf(runtime.server('s').callTool('echo', { no: true }));
    await runtime.close();
    expect(records().map(({ outcome, code }) => [outcome, code])).toEqual([
      ['ok', undefined],
      ['rejected', 'DENIED'],
    ]);
  });

  test('for every call of another thread, also those that end with it', async () => {
    const runtime = await audited();
    const thread = agent(runtime.attach());
    await thread.run(async (attached) => {
      for (let n = 0; n < 50; n++) await attached.server('s').callTool('echo', { n });
      attached
        .server('s')
        .callTool('cwd', { flying: true })
        .catch(() => {});
    });
    await flyingThere();
    await thread.run((attached) => attached.close().then(() => {}));
    await runtime.server('s').callTool('echo', { own: true });
    await runtime.close();
    const own = records().at(-1)?.thread;
    const theirs = records().filter(({ thread }) => thread !== own);
    expect(theirs).toHaveLength(51);
    expect(theirs.at(-1)).toMatchObject({ tool: 'cwd', outcome: 'outcome_unknown' });
    expect(records()).toHaveLength(52);
  });
});

describe('its file', () => {
  test('is for its owner only, turns at its size and keeps as many older ones as it should', async () => {
    const runtime = await audited({ maxBytes: 4_096, keep: 2 });
    for (let n = 0; n < 100; n++) await runtime.server('s').callTool('echo', { n }, { callId: `call-${n}` });
    await runtime.close();
    const files = [`${auditFile()}.2`, `${auditFile()}.1`, auditFile()];
    const kept = files.flatMap((file) => records(file)).map(({ callId }) => callId);
    const all = Array.from({ length: 100 }, (_, n) => `call-${n}`);
    expect(kept).toEqual(all.slice(-kept.length));
    expect(kept.length).toBeGreaterThan(20);
    expect(existsSync(`${auditFile()}.3`)).toBe(false);
    for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path('audit')).mode & 0o777).toBe(0o700);
  });

  test('holds a bounded copy of the arguments, or none, where that is asked for', async () => {
    const redacted = await audited({ arguments: 'redacted', session: 'mine' });
    await redacted.server('s').callTool('echo', { user: 'ada', api_key: 'hunter2', note: 'n'.repeat(300) });
    await redacted.close();
    const none = await audited({ arguments: 'none', file: path('none.jsonl') });
    await none.server('s').callTool('echo', { user: 'ada' });
    await none.close();
    const [copied] = records();
    expect(copied).toMatchObject({ session: 'mine', args: { user: 'ada', api_key: '[redacted]' } });
    expect(JSON.stringify(copied)).toContain('[… 100 more]');
    expect(copied).not.toHaveProperty('argsSha256');
    expect(Object.keys(records(path('none.jsonl'))[0] ?? {}).filter((key) => key.startsWith('args'))).toEqual(
      [],
    );
  });

  test('that cannot be written costs no call, and is warned of', async () => {
    const warnings: string[] = [];
    const runtime = await audited({ file: path() });
    runtime.on('warning', ({ message }) => warnings.push(message));
    expect((await runtime.server('s').callTool('echo', { text: 'a' })).isError).toBe(false);
    await new Promise(setImmediate);
    await runtime.close();
    expect(warnings.join('\n')).toContain('cannot be written');
  });
});
