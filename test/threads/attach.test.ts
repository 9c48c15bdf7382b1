/** Several agent threads on one runtime: they share the sessions and nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type AgentHandlers, type AttachedRuntime, attachRuntime } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import { type AgentThread, useAgents } from '../support/agent-thread.js';
import { useCensus } from '../support/census.js';
import { type ReceivedMessage, readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { type Rule, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);
const attach = useAgents();
const MODERN = fileURLToPath(new URL('../fixtures/modern-server.mjs', import.meta.url));
const HOST = fileURLToPath(new URL('../fixtures/attached-host.mjs', import.meta.url));

const echo = (agent: AgentThread, text: string, server = 's') =>
  agent.run(
    async (runtime, name, text) => (await runtime.server(name).callTool('echo', { text })).text(),
    server,
    text,
  );
const form = (value: string): AgentHandlers => ({
  elicitation: () => ({ action: 'accept', content: { value } }),
});
const launches = (record: string) =>
  readRecord(record).events.filter(({ event }) => event === 'launch').length;
const callsOf = (record: string, tool: string) =>
  readRecord(record).messages.filter(
    ({ method, params }) => method === 'tools/call' && params?.name === tool,
  );
const hangs = (agent: AgentThread) =>
  failureOf(agent.run(async (runtime) => (await runtime.callTool('mcp__s__hang')).text()));

describe('two attached threads', () => {
  it('call one server process at once, and each gets its own answers', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    const agents = [attach(runtime.attach()), attach(runtime.attach())];
    const calls = (runtime: AttachedRuntime, who: string) =>
      Promise.all(
        Array.from({ length: 200 }, async (_, i) => {
          const text = `${who} ${i}`;
          return (await runtime.callTool('mcp__s__echo', { text })).text() === text;
        }),
      );
    const answers = await Promise.all(
      agents.map(async (agent, i) => {
        expect(await agent.run((runtime) => runtime.ready())).toMatchObject({ ok: true, ready: ['s'] });
        return agent.run(calls, `agent ${i}`);
      }),
    );
    expect(answers.flat()).toEqual(Array.from({ length: 400 }, () => true));
    expect((await runtime.callTool('mcp__s__echo', { text: 'owner' })).text()).toBe('owner');
    expect(launches(record)).toBe(1);
    const pids = await Promise.all(
      agents.map((agent) =>
        agent.run(async (runtime) => (await runtime.status()).servers.map(({ pid }) => pid)),
      ),
    );
    expect(pids[0]).toEqual(pids[1]);
  });

  it('are served while the thread of the owner stands still', async () => {
    const runtime = await start({ s: scripted({}) });
    const agent = attach(runtime.attach());
    await agent.run((runtime) => runtime.ready());
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const calls = agent.run(async (runtime, flag) => {
      for (let i = 0; i < 100; i++) await runtime.callTool('mcp__s__echo', { text: `${i}` });
      Atomics.store(flag, 0, 1);
      Atomics.notify(flag, 0);
    }, flag);
    expect(Atomics.wait(flag, 0, 0, 20_000)).not.toBe('timed-out');
    await calls;
  });

  it('have every part of the API: tools, many calls, large results, shaping, status with counts of their own', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const agent = attach(runtime.attach());
    const seen = await agent.run(async (runtime) => {
      const outcomes: string[] = [];
      const calls = Array.from({ length: 50 }, (_, i) => ({
        server: 's',
        tool: 'echo',
        args: { text: `${i}` },
      }));
      for await (const outcome of runtime.callMany(calls, { concurrency: 8 }))
        outcomes.push('result' in outcome ? outcome.result.text() : outcome.error.code);
      const big = await runtime.callTool('mcp__s__big', { bytes: 300_000 });
      const { truncated, file } = await runtime.shape(big, { maxBytes: 2_000 });
      const { servers } = await runtime.status();
      return {
        outcomes: outcomes.sort((a, b) => Number(a) - Number(b)),
        big: big.text().length,
        truncated,
        file,
        calls: servers.map(({ stats }) => stats.calls),
        tools: runtime.tools().map(({ fullName }) => fullName),
        hash: runtime.catalog().hash,
        dirty: [runtime.refreshIfDirty() !== undefined, runtime.refreshIfDirty() !== undefined],
      };
    });
    expect(seen.outcomes).toEqual(Array.from({ length: 50 }, (_, i) => `${i}`));
    expect(seen).toMatchObject({ big: 300_000, truncated: true, calls: [51], dirty: [true, false] });
    expect(seen.file).toBeTypeOf('string');
    expect(seen.tools).toEqual(runtime.tools().map(({ fullName }) => fullName));
    expect(seen.hash).toBe(runtime.catalog().hash);
  });

  it('hear the same events and are served again after the server was restarted by one of them under calls', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    const [a, b] = [attach(runtime.attach()), attach(runtime.attach())];
    const flying = [hangs(a), hangs(b)];
    await recorded(record, () => callsOf(record, 'hang').length === 2);
    await a.run((runtime) => runtime.server('s').restart());
    // The thread that asked knows at once; the other may still send to the old generation until it is told.
    await b.saw('state', { server: 's', state: 'stopping' });
    // Sent into the gap between two generations: they wait for the next one.
    expect(await Promise.all([echo(a, 'a'), echo(b, 'b')])).toEqual(['a', 'b']);
    for (const call of flying) expect(await call).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    for (const agent of [a, b]) {
      await agent.saw('state', { server: 's', state: 'stopping' });
      await agent.saw('state', { server: 's', state: 'ready', generation: 2 });
    }
    expect(launches(record)).toBe(2);
  });

  it('end with their own calls only: those of a terminated thread are cancelled on the wire, the other goes on', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    const [doomed, other] = [attach(runtime.attach()), attach(runtime.attach())];
    const lost = hangs(doomed);
    await recorded(record, () => callsOf(record, 'hang').length === 1);
    const slow = other.run(async (runtime) => (await runtime.callTool('mcp__s__sleep', { ms: 300 })).text());
    await recorded(record, () => callsOf(record, 'sleep').length === 1);
    await doomed.worker.terminate();
    await lost;
    const { messages } = await recorded(record, ({ methods }) => methods.includes('notifications/cancelled'));
    const cancelled = messages.filter(({ method }) => method === 'notifications/cancelled');
    expect(cancelled.map(({ params }) => params?.requestId)).toEqual([callsOf(record, 'hang')[0]?.id]);
    expect(await slow).toContain('300');
    expect(await echo(other, 'still here')).toBe('still here');
    expect(launches(record)).toBe(1);
  });

  it('end by process.exit() like by terminate()', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    const agent = attach(runtime.attach());
    const lost = hangs(agent);
    await recorded(record, () => callsOf(record, 'hang').length === 1);
    void agent.run(() => process.exit(3)).catch(() => {});
    await agent.exited;
    await lost;
    await recorded(record, ({ methods }) => methods.includes('notifications/cancelled'));
    expect((await runtime.callTool('mcp__s__echo', { text: 'owner' })).text()).toBe('owner');
  });
});

describe('an attached thread', () => {
  it('that closes detaches: its calls end and are cancelled, the owner and others keep the session', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    const [leaving, other] = [attach(runtime.attach()), attach(runtime.attach())];
    const flying = hangs(leaving);
    await recorded(record, () => callsOf(record, 'hang').length === 1);
    expect(await leaving.run((runtime) => runtime.close())).toMatchObject({ servers: [] });
    expect(await flying).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('this agent was detached'),
    });
    await recorded(record, ({ methods }) => methods.includes('notifications/cancelled'));
    expect(await failureOf(echo(leaving, 'x'))).toMatchObject({ code: 'CLOSED' });
    expect(await failureOf(leaving.run((runtime) => runtime.server('s').restart()))).toMatchObject({
      code: 'CLOSED',
    });
    expect(await echo(other, 'b')).toBe('b');
    expect((await runtime.callTool('mcp__s__echo', { text: 'owner' })).text()).toBe('owner');
    expect(launches(record)).toBe(1);
  });

  it('is told by whom it was closed when the owner closes', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: { ...scripted({ record }), window: 1 } });
    await runtime.ready();
    const agent = attach(runtime.attach());
    const [flying, waiting] = [hangs(agent), failureOf(echo(agent, 'behind it'))];
    await recorded(record, () => callsOf(record, 'hang').length === 1);
    await runtime.close();
    const by = expect.stringContaining('closed by the thread that owns it');
    expect(await flying).toMatchObject({ code: 'OUTCOME_UNKNOWN', message: by });
    expect(await waiting).toMatchObject({ code: 'CLOSED', message: by });
    expect(await failureOf(echo(agent, 'late'))).toMatchObject({ code: 'CLOSED', message: by });
    expect(await failureOf(agent.run((runtime) => runtime.reconfigure({ servers: {} })))).toMatchObject({
      code: 'CLOSED',
      message: by,
    });
    expect(agent.events.at(-1)).toMatchObject({
      name: 'state',
      server: '',
      state: 'stopped',
      reason: { message: by },
    });
    expect(await agent.run((runtime) => runtime.close())).toMatchObject({ servers: [] });
  });

  it('sees servers that a reconfiguration adds and changes, and loses those that it removes, whoever asked for it', async () => {
    const [a, b] = [scripted({}), scripted({ serverInfo: { name: 'b', version: '1' } })];
    const runtime = await start({ a, b });
    await runtime.ready();
    const [asking, hearing] = [attach(runtime.attach()), attach(runtime.attach())];
    const names = (runtime: AttachedRuntime) => runtime.servers().map(({ name }) => name);
    expect(await hearing.run(names)).toEqual(['a', 'b']);

    const next = { servers: { b: { ...b, callTimeoutMs: 400 }, c: scripted({}) } };
    const seen = await asking.run(async (runtime, next) => {
      const report = await runtime.reconfigure(next);
      const names = runtime.servers().map(({ name }) => name);
      const text = (await runtime.server('c').callTool('echo', { text: 'new' })).text();
      return { report, names, text };
    }, next);
    expect(seen).toMatchObject({
      report: { added: ['c'], changed: ['b'], removed: ['a'] },
      names: ['b', 'c'],
      text: 'new',
    });
    expect(runtime.servers().map(({ name }) => name)).toEqual(['b', 'c']);
    await hearing.saw('tools', { server: 'a', count: 0 });
    await hearing.saw('state', { server: 'c', state: 'ready' });
    await hearing.saw('state', { server: 'b', state: 'ready', generation: 2 });
    expect(await hearing.run(names)).toEqual(['b', 'c']);
    expect(await failureOf(echo(hearing, 'x', 'a'))).toMatchObject({ code: 'UNKNOWN_SERVER' });
    const late = hearing.run(async (runtime) => (await runtime.server('b').callTool('hang')).text());
    expect(await failureOf(late)).toMatchObject({ code: 'TIMEOUT', data: { idleMs: 400 } });
  });

  it('starts a sleeping server by its call, and commands servers like the owner', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: { ...scripted({ record }), lifecycle: 'lazy' } });
    const agent = attach(runtime.attach());
    expect(await echo(agent, 'wake up')).toBe('wake up');
    expect(runtime.server('s').state).toBe('ready');
    await agent.run((runtime) => runtime.server('s').disable());
    await reaches(runtime, 's', 'disabled');
    await agent.saw('state', { server: 's', state: 'disabled' });
    expect(await failureOf(echo(agent, 'x'))).toMatchObject({ code: 'NOT_READY' });
    await agent.run((runtime) => runtime.server('s').enable());
    await agent.saw('state', { server: 's', state: 'ready', generation: 2 });
    await agent.run((runtime) => runtime.drain());
    await reaches(runtime, 's', 'stopped');
    expect(launches(record)).toBe(2);
  });

  it('lets the owner answer what a server asks, when no call is known to be the reason', async () => {
    const params = { mode: 'form', message: 'who?', requestedSchema: { type: 'object', properties: {} } };
    const question = { jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params };
    const record = directory('record.jsonl');
    const rules: Rule[] = [{ method: 'tools/call', tool: 'echo', before: [{ json: question }] }];
    const runtime = await start({ s: scripted({ record, rules }) }, { handlers: form('owner') });
    await runtime.ready();
    const agent = attach(runtime.attach(), 'agent');
    expect(await echo(agent, 'x')).toBe('x');
    const answered = ({ id }: ReceivedMessage) => id === 'q1';
    const { messages } = await recorded(record, ({ messages }) => messages.some(answered));
    expect(messages.find(answered)?.result).toMatchObject({ content: { value: 'owner' } });
  });

  it('answers itself what its own call is asked, or hands it to the owner when it has no handler', async () => {
    const runtime = await start(
      { s: { command: process.execPath, args: [MODERN, '{}'], protocol: '2026-07-28' } },
      { handlers: form('owner') },
    );
    await runtime.ready();
    const ask = async (runtime: AttachedRuntime) => (await runtime.callTool('mcp__s__ask')).text();
    const [silent, able] = [attach(runtime.attach()), attach(runtime.attach(), 'agent')];
    expect(await Promise.all([silent.run(ask), able.run(ask)])).toEqual(['2:owner owner', '2:agent agent']);
  });

  it('does not keep its thread alive when it is idle', async () => {
    const runtime = await start({ s: scripted({}) });
    const agent = attach(runtime.attach());
    expect(await agent.run((runtime) => runtime.ready())).toMatchObject({ ok: true });
    await agent.run(() => globalThis.agentThread.letGo());
    await agent.exited;
  });
});

describe('every attached thread', () => {
  const host = async (scene: 'loss' | 'owner') => {
    const setting = { servers: { s: scripted({}) }, logDir: directory('logs'), scene };
    const child = spawn(process.execPath, [HOST, JSON.stringify(setting)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said: Record<string, unknown>[] = [];
    createInterface(child.stdout).on('line', (line) => said.push(JSON.parse(line)));
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    return said;
  };

  it('meets the loss of the supervisor and is served by the next one, until there is none', async () => {
    const said = await host('loss');
    const of = (name: string) =>
      said.filter(({ agent }) => agent === name).map(({ agent: _, ...rest }) => rest);
    const flying = { event: 'flying', code: 'SUPERVISOR_LOST', sent: true };
    for (const name of ['a', 'b']) {
      const told = of(name);
      expect(told.filter(({ event }) => event === 'flying')).toEqual([flying, flying, flying]);
      expect(told.filter(({ event }) => event === 'lost').map(({ restarts }) => restarts)).toEqual([1, 2, 3]);
      expect(told.filter(({ event }) => event === 'again')).toEqual([
        { event: 'again', text: 'hello' },
        { event: 'again', text: 'hello' },
        {
          event: 'again',
          code: 'NOT_READY',
          message: expect.stringContaining('restarted twice within 60 s'),
        },
      ]);
    }
    expect(said.slice(-2)).toEqual([{ event: 'attach', code: 'SUPERVISOR_LOST' }, { event: 'closed' }]);
  });

  it('is closed, and says why, when the thread that owns the runtime ends', async () => {
    const why = 'the thread that owns the runtime has ended';
    expect(await host('owner')).toEqual([
      { event: 'attached', tools: true },
      { event: 'flying', code: expect.stringMatching(/^(OUTCOME_UNKNOWN|SUPERVISOR_LOST)$/) },
      { event: 'closed', why },
      { event: 'again', code: 'CLOSED', message: expect.stringContaining(why) },
    ]);
  });
});

describe('a handle', () => {
  it('is refused in the thread that owns the runtime, used twice, and when it is none', async () => {
    const runtime = await start({ s: scripted({}) });
    const handle = runtime.attach();
    expect(await failureOf(attachRuntime(handle))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('never transferred'),
    });
    const agent = attach(handle);
    expect(await agent.run((runtime) => runtime.ready())).toMatchObject({ ok: true });
    expect(await failureOf(agent.run(() => globalThis.agentThread.attachAgain()))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('used already'),
    });
    expect(await echo(agent, 'unharmed')).toBe('unharmed');
    expect(() => agent.worker.postMessage(handle, handle.transfer)).toThrow('already detached');
    expect(() => agent.worker.postMessage(runtime.attach())).toThrow('transfer');
    expect(await failureOf(attachRuntime({} as never))).toMatchObject({ code: 'BAD_INPUT' });
    await runtime.close();
    expect(() => runtime.attach()).toThrow(expect.objectContaining({ code: 'CLOSED' }));
  });

  it('whose runtime is closed before it is used says so', async () => {
    const runtime = await start({ s: scripted({}) });
    const agent = attach(runtime.attach());
    await runtime.close();
    expect(await failureOf(agent.run((runtime) => runtime.ready()))).toMatchObject({
      code: 'CLOSED',
      message: expect.stringContaining('closed by the thread that owns it'),
    });
  });
});
