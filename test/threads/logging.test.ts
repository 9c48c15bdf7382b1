/** The log of a runtime, and what none of its records may hold: the secrets of its configuration. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { loadConfig, type RuntimeOptions } from '@bulkhead/runtime';
import { openMetrics } from '@bulkhead/runtime/control';
import { ControlClient, readEntry } from '@bulkhead/runtime/control/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const path = useTempDir();
const start = useRuntime(path);

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
});
afterEach(() => {
  delete process.env.XDG_RUNTIME_DIR;
});

/** As an entry of a config names a variable. */
const reference = (name: string) => ['$', '{', name, '}'].join('');

type Line = { level: string; event?: string; msg: string } & Record<string, unknown>;
type LogOptions = Extract<NonNullable<RuntimeOptions['logger']>, { file?: string }>;

const logFile = () => path('log', 'runtime.log');

function lines(): Line[] {
  return readFileSync(logFile(), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const logger = (level: NonNullable<LogOptions['level']>): LogOptions => ({ level, file: logFile() });

describe('the log', () => {
  test('tells the lives of servers with their reasons, and the end', async () => {
    const runtime = await start(
      { s: scripted({}), gone: { command: 'no-such-program' } },
      { logger: logger('debug') },
    );
    await runtime.ready();
    await runtime.server('s').restart();
    await reaches(runtime, 's', 'ready');
    await runtime.close();
    const found = lines();
    expect(found[0]).toMatchObject({ level: 'info', event: 'start', name: 'bulkhead', pid: process.pid });
    const lives = found.filter(({ event, server }) => event === 'state' && server === 's');
    expect(lives.filter(({ state }) => state === 'ready').map(({ generation }) => generation)).toEqual([
      1, 2,
    ]);
    expect(found.find(({ server, state }) => server === 'gone' && state === 'quarantined')).toMatchObject({
      level: 'error',
      reason: { message: expect.stringContaining('no-such-program') },
    });
    expect(found.find(({ event }) => event === 'tools')).toMatchObject({ server: 's', level: 'info' });
    expect(found.at(-1)).toMatchObject({ event: 'close', level: 'info' });
    expect(statSync(logFile()).mode & 0o777).toBe(0o600);
  });

  test('tells once of a tool that is left out, and why', async () => {
    const tools = [
      { name: 'good', inputSchema: { type: 'object' } },
      { name: 'bad', inputSchema: 'none' },
    ];
    const runtime = await start({ s: scripted({ tools }) }, { logger: logger('info') });
    await runtime.ready();
    await runtime.server('s').restart();
    await reaches(runtime, 's', 'ready');
    await runtime.close();
    const found = lines().filter(({ event }) => event === 'quarantine');
    expect(found).toMatchObject([
      {
        level: 'warn',
        server: 's',
        tools: [{ name: 'bad', reason: expect.stringContaining('inputSchema') }],
      },
    ]);
  });

  test('tells of a new configuration, of warnings and of requests to the control socket', async () => {
    const runtime = await start({ s: scripted({}) }, { logger: logger('debug'), control: { name: 'app' } });
    await runtime.ready();
    await runtime.reconfigure({
      servers: { s: scripted({}), t: scripted({ instructions: 't' }), bad: { command: 7 } },
    });
    const entry = readEntry('app');
    if (entry === undefined) throw new Error('there is no entry');
    await new ControlClient(entry).status();
    await runtime.close();
    const found = lines();
    expect(found.find(({ event }) => event === 'config')).toMatchObject({
      added: ['t'],
      changed: [],
      problems: [expect.stringContaining('"bad"')],
    });
    expect(found.find(({ event }) => event === 'request')).toMatchObject({
      level: 'debug',
      method: 'GET',
      path: '/v1/status',
      status: 200,
    });
  });

  test('tells what was decided about servers of a project', async () => {
    const file = path('.mcp.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { a: scripted({}), b: scripted({}) } }));
    const config = await loadConfig({ cwd: path(), userFile: false });
    const options = {
      config,
      logDir: path('logs'),
      logger: logger('info'),
      onApproval: ({ server }: { server: string }) =>
        server === 'a' ? ('once' as const) : ('deny' as const),
    };
    const { createRuntime } = await import('@bulkhead/runtime');
    const runtime = await createRuntime(options);
    await runtime.ready();
    await runtime.close();
    const decisions = lines().filter(({ event }) => event === 'approval');
    expect(decisions.map(({ server, decision }) => [server, decision])).toEqual([
      ['a', 'approved'],
      ['b', 'denied'],
    ]);
  });

  test('has a line for every call at level trace, and none above it', async () => {
    for (const level of ['trace', 'debug'] as const) {
      const runtime = await start({ s: scripted({}) }, { logger: logger(level) });
      await runtime.ready();
      await runtime.server('s').callTool('echo', { text: 'private' });
      await runtime.close();
    }
    const calls = lines().filter(({ event }) => event === 'call');
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ server: 's', tool: 'echo', outcome: 'ok', route: 'direct' });
    expect(JSON.stringify(lines())).not.toContain('private');
  });

  test('goes to a logger of the program, which keeps what it is', async () => {
    const told: [string, object, string][] = [];
    const tell = (level: string) => (fields: object, message: string) =>
      void told.push([level, fields, message]);
    const own = {
      trace: tell('trace'),
      debug: tell('debug'),
      info: tell('info'),
      warn: tell('warn'),
      error: tell('error'),
    };
    const runtime = await start({ s: scripted({}) }, { logger: own });
    await runtime.ready();
    expect(runtime.logger).toBe(own);
    await runtime.close();
    expect(told.map(([level, , message]) => `${level} ${message}`)).toContain('info server is ready');
  });

  test('that is not asked for is not there, and a warning still waits for the first listener', async () => {
    const silent = await start({ s: scripted({}) });
    expect(silent.logger).toBeUndefined();
    const noisy = await start({ s: scripted({}) }, { logger: logger('warn'), audit: { file: path() } });
    await noisy.ready();
    await noisy.server('s').callTool('echo', {});
    await new Promise((resolve) => noisy.on('warning', resolve));
    await noisy.close();
    expect(lines().filter(({ event }) => event === 'warning')).not.toEqual([]);
  });
});

describe('secrets of the configuration', () => {
  const planted = {
    ENV_SECRET: 'planted-env-7Qx91',
    ARG_SECRET: 'planted-arg-8Rw22',
    HEADER_SECRET: 'planted-header-9Sv33',
    URL_PASSWORD: 'planted-url/p@ss-1Tu44',
    QUERY_SECRET: 'planted-query-2Ut55',
    PLAIN_SECRET: 'planted-plain-3Vs66',
  };

  test('stand in no log, no audit, no event, no status and no metrics, not even when a server says them', async () => {
    const { ENV_SECRET, HEADER_SECRET, URL_PASSWORD, QUERY_SECRET, PLAIN_SECRET } = planted;
    const file = path('mcp.json');
    const says = `const { env, argv } = process;
      console.error('token', env.TOKEN, 'and', argv[1], 'and', decodeURIComponent(new URL(env.PLACE).password));
      process.exit(3)`;
    // What it says of itself when it dies is told as the reason.
    const leaky = { command: process.execPath, args: ['-e', says, '--', `--key=${reference('ARG_SECRET')}`] };
    const place = `postgres://me:${encodeURIComponent(URL_PASSWORD)}@127.0.0.1/db`;
    const entries = {
      honest: { ...scripted({}), env: { TOKEN: reference('ENV_SECRET'), OTHER: PLAIN_SECRET } },
      leaky: { ...leaky, env: { TOKEN: reference('ENV_SECRET'), PLACE: place } },
      remote: {
        type: 'http',
        url: `http://127.0.0.1:9/mcp?key=${reference('QUERY_SECRET')}`,
        headers: { Authorization: `Bearer ${reference('HEADER_SECRET')}` },
      },
    };
    writeFileSync(file, JSON.stringify({ mcpServers: entries }));
    const env = { ...process.env, ...planted };
    const config = await loadConfig({ files: [file], env });
    expect(config.problems).toEqual([]);
    const events: unknown[] = [];
    const { createRuntime } = await import('@bulkhead/runtime');
    const runtime = await createRuntime({
      config,
      logDir: path('logs'),
      logger: logger('trace'),
      audit: { file: path('audit.jsonl'), arguments: 'redacted' },
      control: { name: 'app' },
    });
    for (const name of ['state', 'tools', 'log', 'warning', 'supervisor-lost'] as const)
      runtime.on(name, (event: object) => events.push(event));
    await runtime.ready({ servers: ['honest', 'leaky'] });
    await runtime.server('honest').callTool('echo', { text: `it is ${ENV_SECRET}`, [QUERY_SECRET]: 1 });
    await failureOf(runtime.server('remote').callTool('x', { token: HEADER_SECRET }, { timeoutMs: 100 }));
    const entry = readEntry('app');
    if (entry === undefined) throw new Error('there is no entry');
    const overSocket = await new ControlClient(entry).metrics();
    const { url } = await openMetrics(runtime, { port: 0 });
    const overPort = await (await fetch(url)).text();
    const status = JSON.stringify(await runtime.status());
    await runtime.close();
    const records = {
      status,
      stderr: readFileSync(path('logs/leaky.log'), 'utf8'),
      log: readFileSync(logFile(), 'utf8'),
      audit: readFileSync(path('audit.jsonl'), 'utf8'),
      events: JSON.stringify(events),
      metrics: overSocket + overPort,
    };
    // The server did say it, and the log did tell of that.
    expect(records.log).toContain('token [redacted] and');
    expect(records.stderr).toContain('token [redacted] and --key=[redacted] and [redacted]');
    expect(records.audit).toContain('it is [redacted]');
    for (const [name, text] of Object.entries(records)) {
      for (const secret of [...Object.values(planted), encodeURIComponent(URL_PASSWORD)])
        expect(text, `${name} and ${secret}`).not.toContain(secret);
    }
  });
});
