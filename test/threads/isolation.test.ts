/** One bad server, whatever it does, costs nobody else anything. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Runtime } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { descendants } from '../support/processes.js';
import { pidFrom, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

/** 1 000 calls, 16 at a time; gives the 99th percentile of the loop's delay in ms. */
async function thousandCalls(runtime: Runtime): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let next = 0;
  const caller = async () => {
    while (next < 1_000) {
      const text = `call ${next++}`;
      expect((await runtime.callTool('mcp__good__echo', { text })).text()).toBe(text);
    }
  };
  await Promise.all(Array.from({ length: 16 }, caller));
  delay.disable();
  return delay.percentile(99) / 1e6;
}

describe('while one server', () => {
  it('blocks inside a call for ever and another is stopped, 1 000 calls elsewhere complete and the loop stays free', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('stopped.pid')];
    const runtime = await start(
      { blocked: scripted({ record }), stopped: scripted({ pidFile }), good: scripted({}) },
      { limits: { eofGraceMs: 200, termGraceMs: 200 } },
    );
    await runtime.ready();
    await thousandCalls(runtime); // warm
    const alone = await thousandCalls(runtime);

    const blocked = failureOf(runtime.callTool('mcp__blocked__block', { ms: 3_600_000 }));
    await recorded(record, ({ methods }) => methods.includes('tools/call'));
    process.kill(await pidFrom(pidFile), 'SIGSTOP');
    const stopped = failureOf(runtime.callTool('mcp__stopped__echo', { text: 'x' }));
    const beside = await thousandCalls(runtime);

    // A net for a loop that really hangs, not a clock: a blocked call would show up here as seconds.
    expect(beside).toBeLessThan(Math.max(100, 10 * alone));
    await runtime.close();
    for (const call of [blocked, stopped]) expect(await call).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });

  it('makes its own thread spin, the thread is ended, its process reaped, and everybody else is served', async () => {
    const tool = {
      name: 'trap',
      inputSchema: { type: 'object' },
      // Backtracks for ever on "aaa…!": the check of the result spins the server thread.
      outputSchema: { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } },
    };
    const structuredContent = { s: `${'a'.repeat(60)}!` };
    const rules = [
      { method: 'tools/call', tool: 'trap', reply: { result: { content: [], structuredContent } } },
    ];
    const pidFile = directory('spinner.pid');
    const runtime = await start(
      { spinner: scripted({ tools: [tool], rules, pidFile }), good: scripted({}), other: scripted({}) },
      { limits: { suspectAfterMs: 400, deadAfterMs: 1_500, watchdogRoundMs: 100, heartbeatMs: 100 } },
    );
    await runtime.ready();
    const pid = await pidFrom(pidFile);
    const dead = reaches(runtime, 'spinner', 'killing');
    const trapped = failureOf(runtime.callTool('mcp__spinner__trap'));
    let calls = 0;
    let over = false;
    void dead.then(() => {
      over = true;
    });
    while (!over) {
      for (const server of ['good', 'other']) {
        const result = await runtime.callTool(`mcp__${server}__echo`, { text: `${calls++}` });
        expect(result.outcome).toBe('ok');
      }
    }
    expect(await trapped).toMatchObject({ code: 'OUTCOME_UNKNOWN', data: { reason: { kind: 'watchdog' } } });
    await eventually(
      () => !descendants().some((row) => row.pid === pid),
      () => 'the spinner to be reaped',
    );
    await reaches(runtime, 'spinner', 'ready');
    expect(runtime.server('spinner').generation).toBe(2);
    expect(descendants().filter(({ state }) => state === 'Z')).toEqual([]);
    expect(calls).toBeGreaterThan(20);
  });

  it('answers 80 MB, or 500 MB, the host lives on, with a thread heap far below that', async () => {
    const runtime = await start(
      { fat: { ...scripted({}), maxMessageBytes: 100_000_000 }, good: scripted({}) },
      { limits: { threadHeapMb: 64 } },
    );
    await runtime.ready();
    const large = await runtime.callTool('mcp__fat__big', { bytes: 80_000_000 });
    expect(large.raw.length).toBeGreaterThan(80_000_000);
    const tooLarge = failureOf(runtime.callTool('mcp__fat__big', { bytes: 500_000_000 }));
    expect((await runtime.callTool('mcp__good__echo', { text: 'alive' })).text()).toBe('alive');
    expect(await tooLarge).toMatchObject({ code: 'TOO_LARGE' });
    expect((await runtime.callTool('mcp__fat__echo', { text: 'alive too' })).text()).toBe('alive too');
  });

  it('has a thread that runs out of memory, the start fails with that word and the host lives on', async () => {
    const runtime = await start({ s: scripted({}) }, { limits: { threadHeapMb: 5, restartMax: 0 } });
    const report = await runtime.ready();
    expect(report.failed[0]).toMatchObject({ state: 'quarantined', reason: { kind: 'memory' } });
  });

  it('handshakes and exits again and again, it is spawned at most six times and then parked with its last words', async () => {
    const exitAfter = { requests: 2, code: 9, stderr: 'cannot open database\n' };
    const script = { ...scripted({ exitAfter }), protocol: 'legacy' };
    const runtime = await start({ flapper: script, good: scripted({}) }, { limits: { backoffBaseMs: 20 } });
    await reaches(runtime, 'flapper', 'quarantined');
    const status = (await runtime.status()).servers.find(({ name }) => name === 'flapper');
    expect(status?.spawns).toBe(6);
    expect(status?.reason?.message).toContain('cannot open database');
    expect(await failureOf(runtime.callTool('mcp__flapper__echo', { text: 'x' }))).toMatchObject({
      code: 'NOT_READY',
    });
    expect((await runtime.callTool('mcp__good__echo', { text: 'fine' })).text()).toBe('fine');
  });
});
