/** What becomes of calls when their server is lost: sent or never sent, tried again or not, refused at once or not. */
import type { Runtime } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { pidFrom, type ReceivedMessage, readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { type Json, type Rule, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);

const brisk = { eofGraceMs: 200, termGraceMs: 200, backoffBaseMs: 20, watchdogRoundMs: 50, heartbeatMs: 50 };
const spinning = { ...brisk, suspectAfterMs: 300, deadAfterMs: 1_000 };

/** A tool whose answer the server thread checks for ever: it spins until it is terminated. */
const trap: { tools: Json[]; rules: Rule[] } = {
  tools: [
    { name: 'echo', inputSchema: { type: 'object' } },
    {
      name: 'trap',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } },
    },
  ],
  rules: [
    {
      method: 'tools/call',
      tool: 'trap',
      reply: { result: { content: [], structuredContent: { s: `${'a'.repeat(60)}!` } } },
    },
  ],
};

const isCall =
  (tool: string) =>
  ({ method, params }: ReceivedMessage): boolean =>
    method === 'tools/call' && params?.name === tool;
const received = (record: string, tool: string) => readRecord(record).messages.filter(isCall(tool));
const arrived = (record: string, tool: string) =>
  recorded(record, ({ messages }) => messages.some(isCall(tool)));
/** The supervisor has missed a heartbeat: from now on the thread certainly spins. */
const suspected = (runtime: Runtime) =>
  new Promise<void>((resolve) => {
    runtime.on('warning', ({ message }) => message.includes('heartbeat') && resolve());
  });
const texts = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `call ${from + i}`);

describe('calls that were never sent go to the next generation', () => {
  it('when the process is killed under the one call that is in flight', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('s.pid')];
    const runtime = await start({ s: { ...scripted({ record, pidFile }), window: 1 } }, { limits: brisk });
    await runtime.ready();
    const first = failureOf(runtime.callTool('mcp__s__hang'));
    const others = texts(1, 5).map((text) => runtime.callTool('mcp__s__echo', { text }));
    await arrived(record, 'hang');
    expect(received(record, 'echo')).toEqual([]);
    process.kill(await pidFrom(pidFile), 'SIGKILL');
    expect(await first).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const results = await Promise.all(others);
    expect(results.map((result) => result.text())).toEqual(texts(1, 5));
    expect(results.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1]);
    // In the order of the calls, each once.
    expect(received(record, 'echo').map(({ params }) => params?.arguments)).toEqual(
      texts(1, 5).map((text) => ({ text })),
    );
  });

  it.each([1, 64])('when the thread spins, with a window of %i (B161)', async (window) => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: { ...scripted({ ...trap, record }), window } }, { limits: spinning });
    await runtime.ready();
    const first = failureOf(runtime.callTool('mcp__s__trap'));
    const lost = reaches(runtime, 's', 'killing');
    await arrived(record, 'trap');
    await suspected(runtime); // it reads no more messages
    const later = texts(1, 5).map((text) => runtime.callTool('mcp__s__echo', { text }));
    await lost;
    expect(await first).toMatchObject({ code: 'OUTCOME_UNKNOWN', data: { reason: { kind: 'watchdog' } } });
    const results = await Promise.all(later);
    expect(results.map((result) => result.text())).toEqual(texts(1, 5));
    expect(received(record, 'echo').length).toBe(5);
    expect(runtime.server('s').generation).toBe(2);
  });

  it('but no later than their own deadline', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('s.pid')];
    const entry = scripted({
      launches: { file: directory('launches'), scripts: [{ record, pidFile }, { startDelayMs: 30_000 }] },
    });
    const runtime = await start({ s: { ...entry, window: 1 } }, { limits: brisk });
    await runtime.ready();
    const first = failureOf(runtime.callTool('mcp__s__hang'));
    const waiting = failureOf(runtime.callTool('mcp__s__echo', { text: 'x' }, { timeoutMs: 1_000 }));
    await arrived(record, 'hang');
    process.kill(await pidFrom(pidFile), 'SIGKILL');
    expect(await first).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await waiting).toMatchObject({ code: 'TIMEOUT', data: { sent: false } });
  });

  it('unless that one is too far away: then they are refused, the next in line like all others', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('s.pid')];
    const far = { ...brisk, backoffBaseMs: 3_600_000, backoffCapMs: 3_600_000 };
    const runtime = await start({ s: { ...scripted({ record, pidFile }), window: 1 } }, { limits: far });
    await runtime.ready();
    const first = failureOf(runtime.callTool('mcp__s__hang'));
    const waiting = texts(1, 3).map((text) =>
      failureOf(runtime.callTool('mcp__s__echo', { text }, { timeoutMs: 5_000 })),
    );
    await arrived(record, 'hang');
    process.kill(await pidFrom(pidFile), 'SIGKILL');
    expect(await first).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    for (const call of waiting)
      expect(await call).toMatchObject({ code: 'NOT_READY', data: { state: 'backoff', attempts: 0 } });
  });

  it('and none is lost when the agent itself is busy while its server thread is replaced', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ ...trap, record }) }, { limits: spinning });
    await runtime.ready();
    const first = failureOf(runtime.callTool('mcp__s__trap', {}, { timeoutMs: 20_000 }));
    await arrived(record, 'trap');
    await suspected(runtime);
    const second = runtime.callTool('mcp__s__echo', { text: 'second' }, { timeoutMs: 20_000 });
    await new Promise((resolve) => setImmediate(resolve)); // both are posted
    // The old port's end and the new port are both news of the same turn when this loop is free again.
    const until = performance.now() + 4_000;
    while (performance.now() < until);
    const third = runtime.callTool('mcp__s__echo', { text: 'third' }, { timeoutMs: 20_000 });
    expect(await first).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect((await second).text()).toBe('second');
    expect((await third).text()).toBe('third');
    expect((await runtime.status()).servers[0]?.stats).toMatchObject({ inFlight: 0, queued: 0 });
  });
});

describe('a call that the caller calls idempotent', () => {
  it('is tried once more after a crash, and then it is ok', async () => {
    const record = directory('record.jsonl');
    const rules: Rule[] = [{ method: 'tools/call', reply: null, exit: { code: 3 } }];
    const scripts = [{ rules }, {}];
    const runtime = await start(
      { s: scripted({ record, launches: { file: directory('launches'), scripts } }) },
      { limits: brisk },
    );
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__echo', { text: 'twice' }, { idempotent: true });
    expect(result.text()).toBe('twice');
    expect(result.attempts).toBe(2);
    expect(received(record, 'echo').length).toBe(2);
  });

  it('is poison after two crashes and not tried again; another call finds a server', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) }, { limits: brisk });
    await runtime.ready();
    const error = await failureOf(runtime.callTool('mcp__s__exit', { code: 3 }, { idempotent: true }));
    expect(error).toMatchObject({ code: 'POISON_CALL', data: { attempts: 2 } });
    expect((await runtime.callTool('mcp__s__echo', { text: 'next' })).text()).toBe('next');
    expect(received(record, 'exit').length).toBe(2);
  });

  it('is poison after it made the thread spin twice', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ ...trap, record }) }, { limits: spinning });
    await runtime.ready();
    const error = await failureOf(runtime.callTool('mcp__s__trap', {}, { idempotent: true }));
    expect(error).toMatchObject({ code: 'POISON_CALL', data: { attempts: 2 } });
    await reaches(runtime, 's', 'ready');
    expect(received(record, 'trap').length).toBe(2);
    expect(runtime.server('s').generation).toBe(3);
  });

  it('without that word runs once only', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) }, { limits: brisk });
    await runtime.ready();
    const error = await failureOf(runtime.callTool('mcp__s__exit', { code: 3 }));
    expect(error.code).toBe('OUTCOME_UNKNOWN');
    expect((await runtime.callTool('mcp__s__echo', { text: 'next' })).text()).toBe('next');
    expect(received(record, 'exit').length).toBe(1);
  });
});

describe('the breaker', () => {
  it('opens after five crashes in calls, refuses the next call at once and says when one may go', async () => {
    const record = directory('record.jsonl');
    const runtime = await start(
      { s: scripted({ record }), other: scripted({}) },
      { limits: { ...brisk, restartMax: 20 } },
    );
    await runtime.ready();
    for (let crash = 1; crash <= 5; crash++) {
      const error = await failureOf(runtime.server('s').callTool('exit', { code: 1 }));
      expect(error.code).toBe('OUTCOME_UNKNOWN');
      await reaches(runtime, 's', 'ready');
    }
    const error = await failureOf(runtime.callTool('mcp__s__echo', { text: 'x' }));
    expect(error).toMatchObject({ code: 'BREAKER_OPEN', outcome: 'rejected' });
    const { retryAfterMs } = error.data as { retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(5_000);
    expect(retryAfterMs).toBeLessThanOrEqual(15_000);
    expect(error.message).toContain(`lets a call through in ${Math.ceil(retryAfterMs / 1_000)} s`);
    expect(received(record, 'echo')).toEqual([]);
    expect((await runtime.callTool('mcp__other__echo', { text: 'fine' })).text()).toBe('fine');
    const stats = (await runtime.status()).servers.find(({ name }) => name === 's')?.stats;
    expect(stats).toMatchObject({ calls: 6, outcomes: { outcome_unknown: 5, rejected: 1 } });
  });
});

describe('a full mailbox', () => {
  it('says saturated once, refuses at once, and says drain when there is room again', async () => {
    const record = directory('record.jsonl');
    const runtime = await start(
      { s: { ...scripted({ record }), window: 1, queueMax: 4 } },
      { limits: brisk },
    );
    const events: string[] = [];
    runtime.on('saturated', ({ server }) => events.push(`saturated ${server}`));
    const drained = new Promise<void>((resolve) => {
      runtime.on('drain', ({ server }) => {
        events.push(`drain ${server}`);
        resolve();
      });
    });
    await runtime.ready();
    const abort = new AbortController();
    const hanging = failureOf(runtime.callTool('mcp__s__hang', {}, { signal: abort.signal }));
    const waiting = texts(1, 4).map((text) => runtime.callTool('mcp__s__echo', { text }));
    expect(events).toEqual(['saturated s']);
    for (let i = 0; i < 3; i++) {
      expect(await failureOf(runtime.callTool('mcp__s__echo', { text: 'too many' }))).toMatchObject({
        code: 'MAILBOX_FULL',
        outcome: 'rejected',
        data: { queued: 4, queueMax: 4 },
      });
    }
    expect(events).toEqual(['saturated s']);
    abort.abort();
    await drained;
    expect((await hanging).code).toBe('CANCELLED');
    expect((await Promise.all(waiting)).map((result) => result.text())).toEqual(texts(1, 4));
    expect((await runtime.callTool('mcp__s__echo', { text: 'room' })).text()).toBe('room');
    expect(events).toEqual(['saturated s', 'drain s']);
    expect(received(record, 'echo').length).toBe(5);
  });
});
