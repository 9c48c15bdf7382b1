/** Who counts as hung and who does not: pings, heartbeats, a host that was stopped for a while. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { alive, useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { type Rule, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

const census = useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);
const HOST = fileURLToPath(new URL('../fixtures/console-host.mjs', import.meta.url));

const launches = (record: string) =>
  readRecord(record).events.filter(({ event }) => event === 'launch').length;
const pings = (record: string) => readRecord(record).methods.filter((method) => method === 'ping').length;
const pinged = (record: string, times: number) =>
  recorded(record, ({ methods }) => methods.filter((method) => method === 'ping').length >= times, 20_000);
const brisk = { eofGraceMs: 200, termGraceMs: 200, watchdogRoundMs: 50 };

describe('a server that', () => {
  it.each([-32601, -32600, -32603])(
    'refuses every ping with %i is alive: it is never restarted (B063)',
    async (code) => {
      const record = directory('record.jsonl');
      const rules: Rule[] = [{ method: 'ping', reply: { error: { code, message: 'no pings here' } } }];
      const runtime = await start(
        { s: scripted({ record, rules }) },
        { limits: { ...brisk, pingIdleMs: 200, pingTimeoutMs: 1_000 } },
      );
      await runtime.ready();
      await pinged(record, 3);
      expect((await runtime.callTool('mcp__s__echo', { text: 'alive' })).text()).toBe('alive');
      expect(runtime.server('s').generation).toBe(1);
      expect(launches(record)).toBe(1);
    },
  );

  it('blocks its loop in a call for far longer than a ping may take is not killed (B162)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start(
      { s: scripted({ record }) },
      { limits: { ...brisk, pingIdleMs: 300, pingTimeoutMs: 300 } },
    );
    await runtime.ready();
    await pinged(record, 1);
    const result = await runtime.callTool('mcp__s__block', { ms: 2_500 });
    expect(result.text()).toBe('blocked 2500 ms');
    const before = pings(record);
    await pinged(record, before + 1); // idle again, and asked again
    expect(runtime.server('s').generation).toBe(1);
    expect(launches(record)).toBe(1);
  });

  it('still works on a call that timed out is not killed by the next ping', async () => {
    const record = directory('record.jsonl');
    const runtime = await start(
      { s: { ...scripted({ record }), callTimeoutMs: 200 } },
      { limits: { ...brisk, pingIdleMs: 1_500, pingTimeoutMs: 1_000 } },
    );
    await runtime.ready();
    expect(await failureOf(runtime.callTool('mcp__s__block', { ms: 1_500 }))).toMatchObject({
      code: 'TIMEOUT',
    });
    await pinged(record, 2);
    expect(launches(record)).toBe(1);
  });

  it('is stopped while idle (SIGSTOP) answers no ping: it is ended and replaced', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('s.pid')];
    const runtime = await start(
      { s: scripted({ record, pidFile }) },
      { limits: { ...brisk, pingIdleMs: 200, pingTimeoutMs: 300, backoffBaseMs: 20 } },
    );
    await runtime.ready();
    const pid = await pidFrom(pidFile);
    census.watch(pid);
    const killing = reaches(runtime, 's', 'killing');
    process.kill(pid, 'SIGSTOP');
    await killing;
    expect(runtime.server('s').reason).toMatchObject({
      kind: 'ping',
      message: expect.stringContaining('300 ms'),
    });
    await reaches(runtime, 's', 'ready');
    expect(alive(pid)).toBe(false);
    expect((await runtime.callTool('mcp__s__echo', { text: 'replaced' })).text()).toBe('replaced');
  });
});

describe('a host that is stopped for 3 s (SIGSTOP) and goes on', () => {
  it('kills no server, although every heartbeat is older than deadAfterMs', async () => {
    const names = ['a', 'b', 'c'];
    const records = new Map(names.map((name) => [name, directory(`${name}.jsonl`)]));
    // Pings are answered late, so that one is under way whenever the host is stopped.
    const rules: Rule[] = [{ method: 'ping', delayMs: 600 }];
    const servers = Object.fromEntries(
      [...records].map(([name, record]) => [name, scripted({ record, rules })]),
    );
    const limits = { watchdogRoundMs: 100, deadAfterMs: 1_500, pingIdleMs: 100, pingTimeoutMs: 1_500 };
    const init = JSON.stringify({ servers, limits, logDir: directory('logs') });
    const host = spawn(process.execPath, [HOST, init], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, XDG_STATE_HOME: directory('state'), XDG_RUNTIME_DIR: directory('run') },
    });
    const exited = once(host, 'exit');
    const said: { event: string; servers?: unknown; state?: string }[] = [];
    createInterface({ input: host.stdout }).on('line', (line) => said.push(JSON.parse(line)));
    const heard = (event: string) =>
      eventually(
        () => said.find((line) => line.event === event),
        () => `"${event}" among ${JSON.stringify(said)}`,
      );
    try {
      const { servers: before } = await heard('ready');
      const total = (name: string) => pings(records.get(name) as string);
      for (const record of records.values()) await pinged(record, 1);
      const pingsBefore = new Map(names.map((name) => [name, total(name)]));
      host.kill('SIGSTOP');
      await wait(3_000); // the length of the stop is the point
      host.kill('SIGCONT');
      await eventually(
        () => names.every((name) => total(name) >= (pingsBefore.get(name) ?? 0) + 2),
        () => `two more pings for each server; said: ${JSON.stringify(said)}`,
        20_000,
      );
      host.stdin.write('status\n');
      expect((await heard('status')).servers).toEqual(before);
      expect(said.filter(({ state }) => state === 'killing')).toEqual([]);
    } finally {
      host.kill('SIGCONT');
      host.stdin.write('end\n');
      await exited;
    }
  });
});

describe('a server process that is killed', () => {
  it('while a big answer is half written costs that call and nothing else (B159)', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('s.pid')];
    // The head of an answer, and never its end.
    const rules: Rule[] = [
      {
        method: 'tools/call',
        tool: 'big',
        reply: {
          bytes: [
            '{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"',
            { fill: 'x', bytes: 3_000_000 },
          ],
        },
      },
    ];
    const runtime = await start({ s: scripted({ record, pidFile, rules }), other: scripted({}) });
    await runtime.ready();
    const big = failureOf(runtime.callTool('mcp__s__big', { bytes: 3_000_000 }));
    const small = failureOf(runtime.callTool('mcp__s__hang'));
    await recorded(record, ({ methods }) => methods.filter((method) => method === 'tools/call').length === 2);
    process.kill(await pidFrom(pidFile), 'SIGKILL');
    for (const call of [big, small]) expect(await call).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect((await runtime.callTool('mcp__other__echo', { text: 'fine' })).text()).toBe('fine');
    expect((await runtime.callTool('mcp__s__echo', { text: 'again' })).text()).toBe('again');
    expect(runtime.server('s').generation).toBe(1); // the thread was healthy: reconnected, not restarted
  });
});
