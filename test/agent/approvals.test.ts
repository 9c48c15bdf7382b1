/** Servers whose entries came with a project: none starts before a person said so, and a change asks again. */
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type LoadConfigOptions,
  loadConfig,
  type Runtime,
  type RuntimeOptions,
} from '@bulkhead/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { holdUnapproved } from '../../packages/runtime/src/approval-desk.js';
import { run } from '../cli/cli.js';
import { useCensus } from '../support/census.js';
import { readRecord } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { type Script, type ServerEntry, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const path = useTempDir();
const start = useRuntime(path);

const store = () => path('state', 'bulkhead', 'approvals', 'servers.json');
const launches = (record: string) =>
  readRecord(path(record)).events.filter(({ event }) => event === 'launch').length;

/** Nothing of one test decides the next. */
beforeEach(() => {
  process.env.XDG_STATE_HOME = path('state');
  mkdirSync(path('project', '.bulkhead'), { recursive: true });
});

type Entries = Record<string, ServerEntry | Record<string, unknown>>;

function write(file: string, servers: Entries): void {
  writeFileSync(path('project', file), JSON.stringify({ mcpServers: servers }));
}

const load = (options: LoadConfigOptions = {}) =>
  loadConfig({ cwd: path('project'), userFile: false, ...options });

/** A runtime over the project as it stands in its files. */
async function open(options: RuntimeOptions = {}): Promise<Runtime> {
  return start(undefined as never, { config: await load(), ...options });
}

/** Gives these answers in turn. */
function person(...answers: ApprovalAnswer[]) {
  const asked: ApprovalRequest[] = [];
  const onApproval = (request: ApprovalRequest): ApprovalAnswer => {
    asked.push(request);
    return answers.shift() ?? 'deny';
  };
  return { asked, onApproval };
}

const recording = (script: Script = {}) => scripted({ record: path('record'), ...script });

describe('a server of a project file', () => {
  test('rests as needs-approval when nobody can be asked, and names the file, what it runs and the next step', async () => {
    write('.mcp.json', { s: recording() });
    const runtime = await open();
    const report = await runtime.ready();
    expect(report.failed).toMatchObject([{ name: 's', state: 'needs-approval' }]);
    const reason = report.failed[0]?.reason?.message ?? '';
    for (const part of ['.mcp.json', 'scripted-server.mjs', 'runtime.approve()', 'onApproval']) {
      expect(reason).toContain(part);
    }
    const failure = await failureOf(runtime.server('s').callTool('echo'));
    expect(failure).toMatchObject({ code: 'NOT_READY', outcome: 'rejected' });
    expect(failure.message).toContain('onApproval');
    expect(launches('record')).toBe(0);
  });

  test.each(['start', 'restart', 'enable'] as const)('is not started by %s() either', async (command) => {
    write('.mcp.json', { s: recording() });
    const runtime = await open();
    await runtime.ready();
    await runtime.server('s')[command]();
    expect(runtime.server('s').state).toBe('needs-approval');
    expect(launches('record')).toBe(0);
  });

  test('costs the servers of the user nothing', async () => {
    write('.mcp.json', { s: recording() });
    writeFileSync(path('user.json'), JSON.stringify({ mcpServers: { own: scripted({}) } }));
    const own = await loadConfig({ cwd: path('project'), files: [path('user.json')] });
    const project = await load();
    const runtime = await start(undefined as never, {
      config: { ...project, servers: [...own.servers, ...project.servers] },
    });
    expect(await runtime.ready()).toMatchObject({ ready: ['own'], failed: [{ name: 's' }] });
  });

  test('starts after "always", in later runtimes without a question', async () => {
    write('.mcp.json', { s: recording() });
    const { asked, onApproval } = person('always');
    const first = await open({ onApproval });
    expect((await first.ready()).ready).toEqual(['s']);
    expect(asked).toMatchObject([
      {
        server: 's',
        file: path('project', '.mcp.json'),
        projectDir: path('project'),
        changes: [],
        trusted: false,
      },
    ]);
    expect(asked[0]?.preview).toContain('scripted-server.mjs');
    const second = await open();
    expect((await second.ready()).ready).toEqual(['s']);
    expect(asked).toHaveLength(1);
    expect(statSync(store()).mode & 0o777).toBe(0o600);
    expect(statSync(path('state', 'bulkhead', 'approvals')).mode & 0o777).toBe(0o700);
  });

  test('starts after "once" in this runtime only', async () => {
    write('.mcp.json', { s: recording() });
    const runtime = await open(person('once'));
    expect((await runtime.ready()).ready).toEqual(['s']);
    expect((await (await open()).ready()).failed).toMatchObject([{ state: 'needs-approval' }]);
  });

  test.each([
    ['deny', () => 'deny' as const],
    ['something else', () => 'yes' as unknown as ApprovalAnswer],
    [
      'an error',
      () => {
        throw new Error('the terminal is gone');
      },
    ],
  ])('stays down after %s, until approve() is called', async (_, onApproval) => {
    write('.mcp.json', { s: recording() });
    const runtime = await open({ onApproval });
    const report = await runtime.ready();
    expect(report.failed).toMatchObject([
      { state: 'needs-approval', reason: { message: expect.stringContaining('refused') } },
    ]);
    expect(launches('record')).toBe(0);
    await runtime.approve('s');
    const result = await runtime.server('s').callTool('echo', { text: 'now' });
    expect(result.text()).toBe('now');
    expect((await (await open()).ready()).ready).toEqual(['s']);
  });

  test('is waited for by ready() while a person thinks', async () => {
    write('.mcp.json', { s: recording() });
    let answer: (value: ApprovalAnswer) => void = () => {};
    const runtime = await open({
      onApproval: () =>
        new Promise<ApprovalAnswer>((resolve) => {
          answer = resolve;
        }),
    });
    await reaches(runtime, 's', 'needs-approval');
    let done = false;
    const ready = runtime.ready().finally(() => {
      done = true;
    });
    await runtime.status();
    expect(done).toBe(false);
    answer('once');
    expect((await ready).ready).toEqual(['s']);
  });

  test('is asked about one at a time, and one answer is for one server', async () => {
    write('.mcp.json', { a: scripted({}), b: scripted({}), c: scripted({}) });
    let open_ = 0;
    let most = 0;
    const answers = new Map<string, ApprovalAnswer>([
      ['a', 'once'],
      ['b', 'deny'],
      ['c', 'once'],
    ]);
    const runtime = await open({
      onApproval: async ({ server }) => {
        most = Math.max(most, ++open_);
        await Promise.resolve();
        open_--;
        return answers.get(server) ?? 'deny';
      },
    });
    expect(await runtime.ready()).toMatchObject({ ready: ['a', 'c'], failed: [{ name: 'b' }] });
    expect(most).toBe(1);
  });

  test('that is lazy starts with its first call after the approval', async () => {
    write('.mcp.json', { s: { ...recording(), lifecycle: 'lazy' } });
    const runtime = await open();
    await reaches(runtime, 's', 'needs-approval');
    await runtime.approve('s', { remember: false });
    expect(launches('record')).toBe(0);
    expect((await runtime.server('s').callTool('echo', { text: 'a' })).text()).toBe('a');
  });

  test('that is switched off is not asked about', async () => {
    write('.mcp.json', { s: { ...recording(), disabled: true } });
    const { asked, onApproval } = person('always');
    const runtime = await open({ onApproval });
    await reaches(runtime, 's', 'disabled');
    expect(asked).toEqual([]);
    await runtime.server('s').enable();
    await reaches(runtime, 's', 'needs-approval');
  });
});

describe('what needs no approval', () => {
  test('is a server given in code, in the user file or in a file that was named', async () => {
    writeFileSync(path('named.json'), JSON.stringify({ mcpServers: { s: scripted({}) } }));
    const { asked, onApproval } = person();
    const inCode = await start({ s: scripted({}) }, { onApproval });
    expect((await inCode.ready()).ready).toEqual(['s']);
    const named = await start(undefined as never, {
      config: await load({ files: [path('named.json')] }),
      onApproval,
    });
    expect((await named.ready()).ready).toEqual(['s']);
    mkdirSync(path('home', '.config', 'bulkhead'), { recursive: true });
    writeFileSync(
      path('home', '.config', 'bulkhead', 'mcp.json'),
      JSON.stringify({ mcpServers: { s: scripted({}) } }),
    );
    const config = await load({ env: { HOME: path('home'), PATH: process.env.PATH }, userFile: true });
    const ofUser = await start(undefined as never, { config, onApproval });
    expect((await ofUser.ready()).ready).toEqual(['s']);
    expect(asked).toEqual([]);
  });

  test('is not the local file of a project: it may have come with a download too', async () => {
    write('.bulkhead/mcp.local.json', { s: { ...recording(), trust: true } });
    const { asked, onApproval } = person('once');
    const runtime = await open({ onApproval });
    expect((await runtime.ready()).ready).toEqual(['s']);
    expect(asked).toMatchObject([{ server: 's', trusted: true }]);
    expect(runtime.server('s').trust).toMatchObject({ trusted: true });
  });

  test('a project file cannot vouch for its own server', async () => {
    write('.mcp.json', { s: { ...recording(), trust: true } });
    const runtime = await open(person('once'));
    await runtime.ready();
    expect(runtime.server('s').trust).toMatchObject({ trusted: false });
    expect((await runtime.status()).problems.join()).toContain('cannot vouch for its own server');
  });
});

describe('a change', () => {
  async function approved(entry: Record<string, unknown>): Promise<void> {
    write('.mcp.json', { s: entry });
    const runtime = await open(person('always'));
    await runtime.ready();
    await runtime.close();
  }

  test.each<[string, Record<string, unknown>, Record<string, unknown>, RegExp]>([
    ['args', {}, { args: ['-e', ''] }, /args was \[.*scripted-server.*\], is now \["-e",""\]/],
    ['command', {}, { command: 'sh' }, /command was ".*node", is now "sh"/],
    ['env', {}, { env: { EXTRA: '1' } }, /env was \[\], is now \["EXTRA"\]/],
    ['the value of a variable', { env: { A: '1' } }, { env: { A: '2' } }, /a value of its env/],
    ['cwd', {}, { cwd: '/' }, /cwd was not set, is now "\/"/],
    ['inheritEnv', {}, { inheritEnv: true }, /inheritEnv was false, is now true/],
    [
      'the transport',
      {},
      { command: undefined, args: undefined, url: 'http://127.0.0.1:9/' },
      /type was "stdio", is now "http"/,
    ],
  ])('of %s asks again and says what changed (B174)', async (_, before, change, said) => {
    const entry = { ...scripted({}), ...before };
    await approved(entry);
    write('.mcp.json', { s: { ...entry, ...change } });
    const { asked, onApproval } = person('deny');
    const runtime = await open({ onApproval });
    const report = await runtime.ready();
    expect(report.failed).toMatchObject([{ name: 's', state: 'needs-approval' }]);
    expect(asked[0]?.changes.join('; ')).toMatch(said);
  });

  test('of a variable’s value outside of the file does not ask', async () => {
    const entry = { ...scripted({}), env: { A: `\${APPROVALS_TEST:-x}` } };
    write('.mcp.json', { s: entry });
    await (await open(person('always'))).ready();
    process.env.APPROVALS_TEST = 'other';
    try {
      expect((await (await open()).ready()).ready).toEqual(['s']);
    } finally {
      delete process.env.APPROVALS_TEST;
    }
  });

  test('never tells a value of env or headers', async () => {
    await approved({ ...scripted({}), env: { TOKEN: 'hunter2' } });
    expect(readFileSync(store(), 'utf8')).not.toContain('hunter2');
    write('.mcp.json', { s: { ...scripted({}), env: { TOKEN: 'hunter3' } } });
    const { asked, onApproval } = person('deny');
    await (await open({ onApproval })).ready();
    expect(JSON.stringify(asked)).not.toMatch(/hunter/);
  });

  test('while the runtime lives stops the server and asks; an answer to the old question counts for nothing', async () => {
    write('.mcp.json', { s: recording() });
    const questions: { request: ApprovalRequest; answer: (value: ApprovalAnswer) => void }[] = [];
    const runtime = await open({
      onApproval: (request) => new Promise((answer) => questions.push({ request, answer })),
    });
    await expect.poll(() => questions.length).toBe(1);
    write('.mcp.json', { s: recording({ instructions: 'changed' }) });
    await runtime.reconfigure({ config: await load() });
    expect(questions[0]?.request.signal.aborted).toBe(true);
    questions[0]?.answer('always');
    await expect.poll(() => questions.length).toBe(2);
    expect(launches('record')).toBe(0);
    questions[1]?.answer('always');
    await runtime.ready();
    expect(runtime.server('s').state).toBe('ready');

    write('.mcp.json', { s: recording({ instructions: 'changed again' }) });
    await runtime.reconfigure({ config: await load() });
    await reaches(runtime, 's', 'needs-approval');
    await expect.poll(() => questions.length).toBe(3);
    expect(questions[2]?.request.changes.join()).toContain('args was');
    expect(launches('record')).toBe(1);
  });
});

test('an answer that comes while the runtime is reconfigured is not lost', async () => {
  write('.mcp.json', { s: recording() });
  const answers: ((answer: ApprovalAnswer) => void)[] = [];
  const runtime = await open({ onApproval: () => new Promise((resolve) => answers.push(resolve)) });
  await expect.poll(() => answers.length).toBe(1);
  const config = await load();
  const reconfigured = runtime.reconfigure({ config });
  answers[0]?.('once');
  await reconfigured;
  expect((await runtime.ready()).ready).toEqual(['s']);
  expect(answers).toHaveLength(1);
});

describe('an approval', () => {
  test('of one project is none in another; two paths to one project are one', async () => {
    write('.mcp.json', { s: scripted({}) });
    await (await open(person('always'))).ready();
    symlinkSync(path('project'), path('link'));
    const linked = await start(undefined as never, { config: await load({ cwd: path('link') }) });
    expect((await linked.ready()).ready).toEqual(['s']);
    mkdirSync(path('other'));
    writeFileSync(path('other', '.mcp.json'), readFileSync(path('project', '.mcp.json')));
    const other = await start(undefined as never, { config: await load({ cwd: path('other') }) });
    expect((await other.ready()).failed).toMatchObject([{ state: 'needs-approval' }]);
  });

  test('of one name is none for another', async () => {
    write('.mcp.json', { s: scripted({}) });
    await (await open(person('always'))).ready();
    write('.mcp.json', { t: scripted({}) });
    expect((await (await open()).ready()).failed).toMatchObject([{ name: 't', state: 'needs-approval' }]);
  });

  test('that is taken back stops the server, now and in later runs', async () => {
    write('.mcp.json', { s: recording({ pidFile: path('pid') }) });
    const runtime = await open(person('always'));
    await runtime.ready();
    const hanging = failureOf(runtime.server('s').callTool('hang'));
    await expect.poll(() => readRecord(path('record')).methods).toContain('tools/call');
    await runtime.revoke('s');
    expect((await hanging).code).toBe('OUTCOME_UNKNOWN');
    await reaches(runtime, 's', 'needs-approval');
    expect((await (await open()).ready()).failed).toMatchObject([{ state: 'needs-approval' }]);
    await expect(runtime.revoke('x')).rejects.toMatchObject({ code: 'UNKNOWN_SERVER' });
  });

  test('cannot be taken back where there was none to give', async () => {
    const runtime = await start({ s: scripted({}) });
    await expect(runtime.revoke('s')).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('disable()'),
    });
    await runtime.approve('s');
    await expect(runtime.approve('x')).rejects.toMatchObject({ code: 'UNKNOWN_SERVER' });
  });

  test('of a server called __proto__ is one like any other', async () => {
    const entry = JSON.stringify(scripted({}));
    writeFileSync(path('project', '.mcp.json'), `{"mcpServers": {"__proto__": ${entry}}}`);
    await (await open(person('always'))).ready();
    expect((await (await open()).ready()).ready).toEqual(['__proto__']);
  });

  test('question is given up when the runtime closes', async () => {
    write('.mcp.json', { s: scripted({}) });
    const signals: AbortSignal[] = [];
    const runtime = await open({
      onApproval: ({ signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    await expect.poll(() => signals.length).toBe(1);
    await runtime.close();
    expect(signals[0]?.aborted).toBe(true);
  });
});

describe('the file of approvals', () => {
  test.each([
    ['cut off', '{"version": 1, "projects": {'],
    ['of another version', '{"version": 9, "projects": {}}'],
    ['empty', ''],
  ])('that is %s approves nothing, is told of, and is kept before it is written anew', async (_, text) => {
    write('.mcp.json', { s: scripted({}) });
    mkdirSync(path('state', 'bulkhead', 'approvals'), { recursive: true });
    writeFileSync(store(), text);
    const runtime = await open();
    const warnings: string[] = [];
    runtime.on('warning', ({ message }) => warnings.push(message));
    expect((await runtime.ready()).failed).toMatchObject([{ state: 'needs-approval' }]);
    expect(warnings.join()).toContain('servers.json');
    expect(readFileSync(store(), 'utf8')).toBe(text);
    await runtime.approve('s');
    expect(readFileSync(`${store()}.bad`, 'utf8')).toBe(text);
    expect((await (await open()).ready()).ready).toEqual(['s']);
  });

  test('keeps what it does not know: other projects, other members, other servers', async () => {
    write('.mcp.json', { s: scripted({}) });
    mkdirSync(path('state', 'bulkhead', 'approvals'), { recursive: true });
    const kept = {
      notes: 'mine',
      projects: {
        '/elsewhere': { a: { fingerprint: 'x' } },
        [path('project')]: { gone: { fingerprint: 'y', more: [1] } },
      },
    };
    writeFileSync(store(), JSON.stringify({ version: 1, ...kept }));
    await (await open(person('always'))).ready();
    expect(JSON.parse(readFileSync(store(), 'utf8'))).toMatchObject(kept);
  });

  test.each([
    ['without a server', (fingerprint: string) => ({ fingerprint })],
    ['with the fingerprint alone', (fingerprint: string) => ({ s: fingerprint })],
    ['with a list', (fingerprint: string) => ({ s: [fingerprint] })],
    ['under another server', (fingerprint: string) => ({ t: { fingerprint } })],
    ['with true', () => ({ s: true })],
  ])('with a record %s approves nothing (B175)', async (_, record) => {
    write('.mcp.json', { s: scripted({}) });
    const fingerprint = (await load()).servers[0]?.approvalFingerprint ?? '';
    mkdirSync(path('state', 'bulkhead', 'approvals'), { recursive: true });
    writeFileSync(
      store(),
      JSON.stringify({
        version: 1,
        projects: { [path('project')]: record(fingerprint) },
        s: { fingerprint },
      }),
    );
    expect((await (await open()).ready()).failed).toMatchObject([{ state: 'needs-approval' }]);
  });

  test('that cannot be written: the server runs, and approve() says that nothing is kept', async () => {
    write('.mcp.json', { s: scripted({}) });
    mkdirSync(path('state', 'bulkhead'), { recursive: true });
    writeFileSync(path('state', 'bulkhead', 'approvals'), 'a file where a directory should be');
    const runtime = await open();
    await expect(runtime.approve('s')).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('not kept'),
    });
    expect((await runtime.ready()).ready).toEqual(['s']);
  });
});

describe('a secret of the environment', () => {
  test('does not leave for a server that nobody approved (B121)', async () => {
    const requests: string[] = [];
    const thief = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(500).end();
    });
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
    const { port } = thief.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/\${APPROVALS_SECRET}`;
    write('.mcp.json', {
      web: { url, headers: { 'X-Key': `\${APPROVALS_SECRET}` } },
      helped: { url, headersHelper: `touch ${path('helped')}` },
      program: { ...recording(), env: { KEY: `\${APPROVALS_SECRET}` } },
    });
    const config = await load({ env: { ...process.env, APPROVALS_SECRET: 'hunter2' } });
    const held = await holdUnapproved(config);
    expect(JSON.stringify(held.servers.map(({ spec }) => spec))).not.toContain('hunter2');
    const runtime = await start(undefined as never, { config });
    const { failed } = await runtime.ready();
    expect(failed.map(({ state }) => state)).toEqual(['needs-approval', 'needs-approval', 'needs-approval']);
    expect(JSON.stringify([failed, await runtime.status()])).not.toContain('hunter2');
    await runtime.close();
    await new Promise((resolve) => thief.close(resolve));
    expect(requests).toEqual([]);
    expect(launches('record')).toBe(0);
    expect(() => statSync(path('helped'))).toThrow();
  });
});

describe('the command line', () => {
  const env = () => ({ HOME: path('home'), XDG_CONFIG_HOME: path('none'), XDG_STATE_HOME: path('state') });

  test('refuses a project server with a hint, and runs it with --trust-project or BULKHEAD_TRUST_PROJECT=1', async () => {
    write('.mcp.json', { s: recording() });
    const call = ['call', 's.echo', 'text=a'];
    const options = { cwd: path('project'), env: env() };
    const refused = await run(call, options);
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    for (const hint of ['server "s"', '--trust-project', 'BULKHEAD_TRUST_PROJECT=1', '--config .mcp.json']) {
      expect(refused.stderr).toContain(hint);
    }
    expect(launches('record')).toBe(0);
    expect(await run([...call, '--trust-project'], options)).toMatchObject({ code: 0, stdout: 'a\n' });
    const trusting = { ...options, env: { ...env(), BULKHEAD_TRUST_PROJECT: '1' } };
    expect(await run(call, trusting)).toMatchObject({ code: 0, stdout: 'a\n' });
    expect((await run(call, options)).code).toBe(3);
  });

  test('runs a project server that was approved, and says what changed when it is another', async () => {
    write('.mcp.json', { s: recording() });
    const runtime = await open();
    await runtime.approve('s');
    await runtime.close();
    const options = { cwd: path('project'), env: env() };
    expect(await run(['call', 's.echo', 'text=a'], options)).toMatchObject({ code: 0, stdout: 'a\n' });
    write('.mcp.json', { s: { ...recording(), inheritEnv: true } });
    const refused = await run(['tools'], options);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('inheritEnv was false, is now true');
  });
});
