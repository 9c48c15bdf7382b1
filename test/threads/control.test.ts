/** The control socket of a runtime in this process: who may use it, what it answers, and what is left of it. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname } from 'node:path';
import { openControl } from '@bulkhead/runtime/control';
import {
  ControlClient,
  controlDir,
  listEntries,
  readEntry,
  socketPath,
} from '@bulkhead/runtime/control/client';
import type { BulkheadError } from '@bulkhead/workers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FeedClient, QUIET } from '../../packages/runtime/src/control/event-feed.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const path = useTempDir();
const start = useRuntime(path);
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
});
afterEach(() => {
  delete process.env.XDG_RUNTIME_DIR;
});

function client(name: string): ControlClient {
  const entry = readEntry(name);
  if (entry === undefined) throw new Error(`there is no entry "${name}"`);
  return new ControlClient(entry);
}

/** A request as another program would send it. */
function plainRequest(method: string, route: string, body = '', headers: Record<string, string> = {}) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const sent = request(
      { socketPath: socketPath('app'), method, path: route, agent: false, headers },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode, text }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Ends with the exit status of a Node program run by `uid`. */
function runAs(uid: number, program: string, ...args: string[]): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args, '-e', program], {
      uid,
      gid: uid,
      stdio: 'ignore',
      cwd: '/',
    });
    child.once('error', reject);
    child.once('exit', resolve);
  });
}

/** A socket whose program was killed. */
async function leaveBehind(socket: string): Promise<number | undefined> {
  const program = `require('node:net').createServer().listen(${JSON.stringify(socket)}, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', program]);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await gone;
  return child.pid;
}

describe('a call through the socket', () => {
  test('ends as a direct one does: result, tool error and refusal alike (B165)', async () => {
    const runtime = await start(
      {
        s: scripted({
          rules: [
            {
              method: 'tools/call',
              tool: 'cwd',
              reply: {
                bytes: [`{"jsonrpc":"2.0","id":$id,"result":{"content":[],"n":12345678901234567890}}\n`],
              },
            },
          ],
        }),
      },
      { control: { name: 'app' } },
    );
    await runtime.ready();
    const remote = client('app');
    for (const [tool, args] of [
      ['echo', '{"text":"hé"}'],
      ['fail', '{"text":"no"}'],
      ['cwd', '{}'],
    ] as const) {
      const direct = await runtime.server('s').callTool(tool, JSON.parse(args));
      const over = await remote.call({ server: 's', tool, args });
      expect(over).toMatchObject({ raw: direct.raw, outcome: direct.outcome, isError: direct.isError });
      expect(over.content).toEqual(direct.content);
      expect(over.text()).toBe(direct.text());
    }
    expect((await remote.call({ server: 's', tool: 'cwd', args: '{}' })).raw).toContain(
      '12345678901234567890',
    );
    for (const [server, tool] of [
      ['s', 'nope'],
      ['x', 'echo'],
    ] as const) {
      const over = await failureOf(remote.call({ server, tool, args: '{}' }));
      const direct = await failureOf((async () => runtime.server(server).callTool(tool))());
      expect(over).toMatchObject({ code: direct.code, message: direct.message, server: direct.server });
    }
  });

  test('has its arguments checked when that is asked for, and is not sent when they do not fit', async () => {
    const tools = [
      { name: 'count', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } },
    ];
    const runtime = await start(
      { s: scripted({ record: path('record'), tools }) },
      { control: { name: 'app' } },
    );
    await runtime.ready();
    const remote = client('app');
    const echoed = await remote.call({
      server: 's',
      tool: 'count',
      args: '{"n":1}',
      validate: true,
    });
    expect(echoed.isError).toBe(false);
    const failed = await failureOf(
      remote.call({ server: 's', tool: 'count', args: '{"n":"x"}', validate: true }),
    );
    expect(failed).toMatchObject({ code: 'INVALID_ARGUMENTS', data: { problems: ['"n": must be integer'] } });
    const { messages } = await recorded(path('record'), ({ methods }) => methods.includes('tools/call'));
    expect(messages.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  test('finds the tool that a full name means while its server is still starting, or says what is there', async () => {
    await start({ s: scripted({ startDelayMs: 300 }), t: scripted({}) }, { control: { name: 'app' } });
    const remote = client('app');
    expect(await remote.find('mcp__s__echo')).toMatchObject({ server: 's', name: 'echo' });
    expect(await remote.find('t.echo')).toMatchObject({ fullName: 'mcp__t__echo' });
    expect(await failureOf(remote.find('mcp__s__nope'))).toMatchObject({ code: 'UNKNOWN_TOOL' });
    expect((await failureOf(remote.find('s.nope'))).message).toMatch(/it has: big, .*echo/);
    expect((await failureOf(remote.find('x.echo'))).message).toContain('there are: s, t');
  });

  test('passes the gate of the runtime, which is told the way it came', async () => {
    const routes: string[] = [];
    const gate = {
      check: ({ route, identity }: { route: string; identity: { tool: string } }) => {
        routes.push(route);
        return identity.tool === 'echo'
          ? ({ allow: true } as const)
          : { allow: false as const, reason: 'not that' };
      },
    };
    const runtime = await start({ s: scripted({}) }, { control: { name: 'app' }, gate });
    await runtime.ready();
    expect((await client('app').call({ server: 's', tool: 'echo', args: '{"text":"a"}' })).text()).toBe('a');
    expect(await failureOf(client('app').call({ server: 's', tool: 'fail', args: '{}' }))).toMatchObject({
      code: 'DENIED',
      outcome: 'rejected',
    });
    expect(routes).toEqual(['control', 'control']);
  });

  test('is cancelled at the server when its client goes away', async () => {
    const runtime = await start({ s: scripted({ record: path('record') }) }, { control: { name: 'app' } });
    await runtime.ready();
    const abort = new AbortController();
    const call = failureOf(client('app').call({ server: 's', tool: 'hang', args: '{}' }, abort.signal));
    await recorded(path('record'), ({ methods }) => methods.includes('tools/call'));
    abort.abort();
    expect((await call).code).toBe('CANCELLED');
    await recorded(path('record'), ({ methods }) => methods.includes('notifications/cancelled'));
  });
});

describe('the socket', () => {
  test('is the user’s alone, and gone with the runtime', async () => {
    const runtime = await start({ s: scripted({}) }, { control: { name: 'app' } });
    const socket = socketPath('app');
    expect(lstatSync(socket).mode & 0o777).toBe(0o600);
    expect(lstatSync(dirname(socket)).mode & 0o777).toBe(0o700);
    expect((await client('app').health()).name).toBe('app');
    await runtime.close();
    expect(existsSync(socket)).toBe(false);
    expect(listEntries()).toEqual([]);
  });

  test('answers no other user', async () => {
    await start({}, { control: { name: 'app' } });
    const program = `require('node:net').connect(${JSON.stringify(socketPath('app'))}).on('connect', () => process.exit(0)).on('error', (e) => process.exit(e.code === 'EACCES' ? 7 : 8))`;
    // The path to it is open to everyone: the directory and the socket are what keeps others out.
    chmodSync(path(), 0o755);
    chmodSync(path('run'), 0o755);
    chmodSync(path('run', 'bulkhead'), 0o755);
    // Without root there is no second user to be; the owner then shows that the program can connect at all.
    expect(await runAs(isRoot ? NOBODY : (process.getuid?.() ?? 0), program)).toBe(isRoot ? 7 : 0);
  });

  test('is not used when somebody else could have put it there', async () => {
    await start({}, { control: { name: 'app' } });
    const remote = client('app');
    chmodSync(socketPath('app'), 0o666);
    expect(await failureOf(remote.health())).toMatchObject({
      code: 'DENIED',
      message: /open to other users/,
    });
    chmodSync(socketPath('app'), 0o600);
    chmodSync(controlDir(), 0o777);
    expect((await failureOf((async () => readEntry('app'))())).message).toContain('chmod go=');
    chmodSync(controlDir(), 0o700);
    if (!isRoot) return;
    chownSync(socketPath('app'), NOBODY, NOBODY);
    expect((await failureOf(remote.health())).message).toContain(`belongs to user ${NOBODY}`);
    chownSync(socketPath('app'), 0, 0);
    expect((await remote.health()).pid).toBe(process.pid);
  });

  test('is not opened in a directory of another user', async () => {
    mkdirSync(path('run', 'bulkhead'), { recursive: true });
    // A file where the directory should be stands in for it where nobody can give a directory away.
    if (isRoot) {
      mkdirSync(controlDir());
      chownSync(controlDir(), NOBODY, NOBODY);
    } else writeFileSync(controlDir(), '');
    await expect(start({}, { control: { name: 'app' } })).rejects.toThrow(
      isRoot ? /belongs to user/ : /EEXIST|not a directory/,
    );
  });

  test('that a killed program left behind is no obstacle, and stands in no list', async () => {
    mkdirSync(controlDir(), { recursive: true, mode: 0o700 });
    const socket = socketPath('app');
    const pid = await leaveBehind(socket);
    const entry = { name: 'app', pid, protocol: 1, socket, startedAt: new Date().toISOString() };
    writeFileSync(`${controlDir()}/app.json`, JSON.stringify(entry));
    expect(existsSync(socket)).toBe(true);
    const runtime = await start({}, { control: { name: 'app' } });
    expect((await client('app').health()).pid).toBe(process.pid);
    await runtime.close();
    expect(listEntries()).toEqual([]);
  });

  test('has one owner: of several that want a dead one’s name at once exactly one gets it', async () => {
    mkdirSync(controlDir(), { recursive: true, mode: 0o700 });
    await leaveBehind(socketPath('app'));
    const runtimes = await Promise.all([1, 2, 3, 4].map(() => start({})));
    const opened = await Promise.allSettled(runtimes.map((runtime) => openControl(runtime, { name: 'app' })));
    const lost = opened.flatMap((one) => (one.status === 'rejected' ? [one.reason as BulkheadError] : []));
    expect(lost).toHaveLength(3);
    for (const error of lost)
      expect(error).toMatchObject({ code: 'BAD_INPUT', data: { kind: 'name-taken' } });
    expect((await client('app').health()).name).toBe('app');
  });

  test('finds room under a path that is too long for one', async () => {
    process.env.XDG_RUNTIME_DIR = path('d'.repeat(60), 'e'.repeat(60));
    const runtime = await start({}, { control: { name: 'app' } });
    expect(Buffer.byteLength(socketPath('app'))).toBeLessThan(104);
    expect((await client('app').health()).name).toBe('app');
    const socket = socketPath('app');
    await runtime.close();
    expect(existsSync(socket)).toBe(false);
  });

  test('leaves Node’s module loader as it was: what is reached through a symbolic link is one module', async () => {
    await start({}, { control: { name: 'app' } });
    mkdirSync(path('real'));
    for (const name of ['a', 'b'])
      writeFileSync(path('real', `${name}.mjs`), 'export const { url } = import.meta;');
    symlinkSync(path('real'), path('link'));
    const clientUrl = new URL('../../packages/runtime/dist/control/client.js', import.meta.url).href;
    const program = `
      const { ControlClient, readEntry } = await import(${JSON.stringify(clientUrl)});
      await import(${JSON.stringify(path('link', 'a.mjs'))});
      await new ControlClient(readEntry('app')).health();
      const { url } = await import(${JSON.stringify(path('link', 'b.mjs'))});
      process.exit(url.endsWith('/real/b.mjs') ? 7 : 8);`;
    expect(await runAs(process.getuid?.() ?? 0, program, '--input-type=module')).toBe(7);
  });

  test('takes no name that is a path', async () => {
    await expect(start({}, { control: { name: '../x' } })).rejects.toThrow(
      /expected the name of a control socket/,
    );
  });
});

describe('what it answers', () => {
  test('status, tools and metrics of every server', async () => {
    const runtime = await start(
      { s: scripted({}), gone: { command: 'no-such-program' } },
      { control: { name: 'app' } },
    );
    await runtime.ready();
    await runtime.server('s').callTool('fail', {});
    const { servers, health } = await client('app').status({ tools: true });
    expect(health).toMatchObject({ ready: 1, total: 2, pid: process.pid });
    const s = servers.find(({ name }) => name === 's');
    expect(s).toMatchObject({
      state: 'ready',
      era: 'legacy',
      stats: { calls: 1, outcomes: { tool_error: 1 } },
    });
    expect(s?.rssBytes).toBeGreaterThan(1_000_000);
    expect(s?.toolList?.map(({ name }) => name)).toContain('echo');
    expect((await client('app').tools()).length).toBe(runtime.tools().length);
    expect((await client('app').catalog()).hash).toBe(runtime.catalog().hash);
    const metrics = await client('app').metrics();
    expect(metrics).toContain('bulkhead_calls_total{server="s",outcome="tool_error"} 1\n');
    expect(metrics).toContain('bulkhead_server_state{server="gone",state="quarantined"} 1\n');
    expect(metrics).toContain('bulkhead_server_state{server="gone",state="ready"} 0\n');
  });

  test('commands about servers, with where they stand afterwards', async () => {
    const runtime = await start({ s: scripted({}) }, { control: { name: 'app' } });
    await runtime.ready();
    const remote = client('app');
    expect(await remote.command('s', 'stop')).toMatchObject({ server: 's', state: 'stopped' });
    await remote.command('s', 'start');
    expect(await remote.ready({ servers: ['s'] })).toMatchObject({ ok: true, ready: ['s'] });
    expect(await remote.command('s', 'drain', { timeoutMs: 1_000 })).toMatchObject({ state: 'stopped' });
    await remote.command('s', 'disable');
    await eventually(
      () => runtime.server('s').state === 'disabled',
      () => 'the server to be disabled',
    );
    await remote.command('s', 'enable');
    await reaches(runtime, 's', 'ready');
    expect(await failureOf(remote.command('x', 'stop'))).toMatchObject({ code: 'UNKNOWN_SERVER' });
  });

  test('mistakes as JSON with a code: route, body, version, and what only its program may do', async () => {
    await start({ s: scripted({}) }, { control: { name: 'app' } });
    const code = (text: string) => JSON.parse(text).error.code;
    const missing = await plainRequest('GET', '/v1/nope');
    expect([missing.status, code(missing.text)]).toEqual([404, 'BAD_INPUT']);
    const bad = await plainRequest('POST', '/v1/call', '{"server":1}');
    expect(bad.status).toBe(400);
    expect(JSON.parse(bad.text).error.message).toContain('"server"');
    expect((await plainRequest('POST', '/v1/call', '{')).status).toBe(400);
    const newer = await plainRequest('GET', '/v1/health', '', { 'bulkhead-protocol': '99' });
    expect([newer.status, code(newer.text)]).toEqual([501, 'UNSUPPORTED']);
    expect((await plainRequest('POST', '/v1/shutdown')).status).toBe(501);
    expect((await plainRequest('POST', '/v1/reload')).status).toBe(501);
    const other = await plainRequest('GET', '/v1/tools', '', { 'bulkhead-config': 'another' });
    expect([other.status, JSON.parse(other.text).error.data.kind]).toEqual([409, 'config-mismatch']);
  });

  test('a client of another version says so before it asks for anything', async () => {
    await start({}, { control: { name: 'app' } });
    const entry = readEntry('app');
    if (entry === undefined) throw new Error('no entry');
    expect(new ControlClient(entry).misfit).toBeUndefined();
    expect(new ControlClient({ ...entry, protocol: 2 }).misfit).toContain(
      'of a newer version (control protocol 2',
    );
    expect(new ControlClient({ ...entry, protocol: 0 }).misfit).toContain('of an older version');
  });
});

describe('what goes on for as long as somebody listens', () => {
  test('events come as they happen, the latest first kept, and end with the runtime', async () => {
    const runtime = await start({ s: scripted({}) }, { control: { name: 'app' } });
    await runtime.ready();
    const seen: string[] = [];
    const listening = (async () => {
      for await (const { event, data } of client('app').events({ recent: 100, follow: true }))
        seen.push(`${event} ${data.state ?? ''}`);
    })();
    await eventually(
      () => seen.includes('state ready'),
      () => 'the kept events',
    );
    await runtime.server('s').stop();
    await eventually(
      () => seen.includes('state stopped'),
      () => 'an event that has just happened',
    );
    await runtime.close();
    await listening;
  });

  test('a client that reads too slowly loses the oldest events and is told how many', async () => {
    let left = false;
    const slow = new FeedClient([], () => {
      left = true;
    });
    for (let n = 0; n < 1_500; n++) slow.push({ at: '', event: 'log', data: { n } });
    expect(await slow.next(1_000)).toMatchObject({ event: 'dropped', data: { count: 500 } });
    expect(await slow.next(1_000)).toMatchObject({ data: { n: 500 } });
    slow.close();
    for (let n = 501; n < 1_500; n++) await slow.next(1_000);
    expect(await slow.next(1_000)).toBeUndefined();
    expect(left).toBe(true);
    expect(await new FeedClient([], () => {}).next(1)).toBe(QUIET);
  });

  test('the log of a server: its last lines, then what is added', async () => {
    const runtime = await start({ s: scripted({}) }, { control: { name: 'app' } });
    await runtime.ready();
    for (const text of ['one\n', 'two\n', 'three\n']) await runtime.server('s').callTool('stderr', { text });
    const remote = client('app');
    const read = async (lines: number) => {
      let text = '';
      for await (const bytes of remote.logs('s', { lines, follow: false }))
        text += Buffer.from(bytes).toString();
      return text;
    };
    await expect.poll(() => read(2)).toBe('two\nthree\n');
    expect((await read(100)).split('\n').filter((line) => line === 'one')).toHaveLength(1);
    let followed = '';
    const following = (async () => {
      for await (const bytes of remote.logs('s', { lines: 1, follow: true }))
        followed += Buffer.from(bytes).toString();
    })();
    await eventually(
      () => followed === 'three\n',
      () => 'the last line',
    );
    await runtime.server('s').callTool('stderr', { text: 'four\n' });
    await eventually(
      () => followed === 'three\nfour\n',
      () => 'the line that was added',
    );
    await runtime.close();
    await following;
  });
});
