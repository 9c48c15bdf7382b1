import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { run, STACK_TRACE, shell, start, writeConfig } from './cli.js';

const { watch } = useCensus();
const path = useTempDir();
const rawServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./raw-server.mjs', import.meta.url))],
};

/** A config with one honest server `s` that writes down what it receives. */
function honest(script: Parameters<typeof scripted>[0] = {}): string {
  return writeConfig(path('c.json'), {
    s: scripted({ record: path('record'), pidFile: path('pid'), ...script }),
  });
}

async function expectServerGone(): Promise<void> {
  watch(await pidFrom(path('pid')));
}

describe('what a call prints', () => {
  test('the text of the result, and nothing else on stdout', async () => {
    const ended = await run(['call', 's.echo', 'text=hello', '-c', honest()]);
    expect(ended).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
    await expectServerGone();
  });

  test('with --json the exact result', async () => {
    const ended = await run(['call', 's.echo', 'text=hello', '--json', '-c', honest()]);
    expect(ended).toMatchObject({
      code: 0,
      stdout: '{"content":[{"type":"text","text":"hello"}]}\n',
      stderr: '',
    });
  });

  test('a structured payload alone is printed, nothing at all is said to be empty (B171)', async () => {
    const tools = ['structured', 'empty'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    const config = honest({
      tools,
      rules: [
        {
          method: 'tools/call',
          tool: 'structured',
          reply: { result: { content: [], structuredContent: { a: 42 } } },
        },
        { method: 'tools/call', tool: 'empty', reply: { result: { content: [] } } },
      ],
    });
    expect(await run(['call', 's.structured', '-c', config])).toMatchObject({
      code: 0,
      stdout: '{"a":42}\n',
    });
    expect(await run(['call', 's.empty', '-c', config])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '(empty result)\n',
    });
  });

  test('an error of the tool: its text on stdout, a sentence on stderr, never exit 0', async () => {
    const config = honest();
    const ended = await run(['call', 's.fail', 'text=disk full', '-c', config]);
    expect(ended).toMatchObject({ code: 5, stdout: 'disk full\n' });
    expect(ended.stderr).toContain('tool "fail" of server "s" reported an error');
    const json = await run(['call', 's.fail', 'text=disk full', '--json', '-c', config]);
    expect(JSON.parse(json.stdout)).toMatchObject({ isError: true });
    expect(JSON.parse(json.stderr)).toMatchObject({
      error: { code: 'TOOL_ERROR', server: 's', tool: 'fail' },
    });
  });

  test('digits of big integers survive in arguments and results (B094)', async () => {
    const config = writeConfig(path('c.json'), { raw: rawServer });
    const sent = await run(['call', 'raw.raw', 'id=1915883588174806058', '-c', config]);
    expect(sent.stdout).toContain('"arguments":{"id":1915883588174806058}');
    const args = await run(['call', 'raw.raw', '--args', '{"id": 9007199254740993}', '-c', config]);
    expect(args.stdout).toContain('{"id": 9007199254740993}'.replace(': ', ':'));
    const got = await run(['call', 'raw.raw', 'quiet:=true', '-c', config]);
    expect(got.stdout).toBe('{"id": 1915883588174806058}\n');
  });
});

describe('large output', () => {
  /** Takes one byte, then nothing for a second: a program that does not wait for its pipe is gone by then. */
  const slowReader = '(IFS= read -r -N 1; sleep 1; wc -c)';

  test.each([200_000, 5_000_000])('%i bytes arrive whole through a slow pipe (B163)', async (bytes) => {
    const config = honest();
    const line = `"$NODE" "$MAIN" call s.big bytes=${bytes} -c ${config} | ${slowReader}; echo "\${PIPESTATUS[0]}"`;
    expect((await shell(line, path())).stdout.split(/\s+/)).toEqual([String(bytes), '0', '']);
  });

  test('5 MB of a failed call arrive whole as well (B163)', async () => {
    writeFileSync(path('text'), 'x'.repeat(5_000_000));
    const config = honest();
    const line = `"$NODE" "$MAIN" call s.fail text=@text -c ${config} | ${slowReader}; echo "\${PIPESTATUS[0]}"`;
    expect((await shell(line, path())).stdout.split(/\s+/)).toEqual(['5000000', '5', '']);
  });

  test('a reader that leaves early ends it quietly and leaves no server (B170)', async () => {
    const config = honest();
    const line = `"$NODE" "$MAIN" call s.big bytes=5000000 -c ${config} | head -c 1; echo "\${PIPESTATUS[0]}"`;
    expect(await shell(line, path())).toMatchObject({ stdout: 'x0\n', stderr: '' });
    await expectServerGone();
  });
});

describe('arguments', () => {
  const tools = [
    {
      name: 'typed',
      inputSchema: {
        type: 'object',
        properties: { n: { type: 'integer' }, ok: { type: 'boolean' }, s: { type: 'string' } },
        required: ['n'],
      },
    },
  ];

  test('take the types of the schema', async () => {
    const ended = await run(['call', 's.typed', 'n=7', 'ok=true', 's=007', '-c', honest({ tools })]);
    expect(ended.code).toBe(0);
    const { messages } = readRecord(path('record'));
    const call = messages.find(({ method }) => method === 'tools/call');
    expect(call?.params?.arguments).toEqual({ n: 7, ok: true, s: '007' });
  });

  test('that do not fit are refused before anything is sent, unless told otherwise', async () => {
    const config = honest({ tools });
    const refused = await run(['call', 's.typed', 'n=1.0', '--json', '-c', config]);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stderr)).toMatchObject({
      error: {
        code: 'INVALID_ARGUMENTS',
        message: expect.stringContaining('"n": must be integer'),
        server: 's',
      },
    });
    expect(readRecord(path('record')).methods).not.toContain('tools/call');
    const sent = await run(['call', 's.typed', 'n=1.0', '--no-validate', '-c', config]);
    expect(sent.code).toBe(0);
    expect(readRecord(path('record')).methods).toContain('tools/call');
  });

  test('come from a file with a byte order mark and CRLF, and from stdin for an explicit - (B169)', async () => {
    const config = honest();
    writeFileSync(path('args.json'), '\ufeff{\r\n  "text": "from file"\r\n}\r\n');
    const file = await run(['call', 's.echo', '--args', '@args.json', '-c', config], { cwd: path() });
    expect(file.stdout).toBe('from file\n');
    const stdin = await run(['call', 's.echo', '--args', '-', '-c', config], {
      stdin: '{"text":"from stdin"}',
    });
    expect(stdin.stdout).toBe('from stdin\n');
  });

  test('without their quotes show what was received and hint at the shell, and start no server (B169)', async () => {
    const ended = await run(['call', 's.echo', '--args', '{a:1}', '-c', honest()]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/Received `\{a:1\}`.*PowerShell.*@file/);
    expect(readRecord(path('record')).events).toEqual([]);
  });

  test('an open stdin that nobody writes to is not waited for (B166)', async () => {
    const config = honest();
    for (const args of [['call', 's.echo', 'text=a'], ['tools']]) {
      const ended = await run([...args, '-c', config], { stdin: { open: true } });
      expect(ended.code).toBe(0);
      expect(ended.tookMs).toBeLessThan(15_000);
    }
  });
});

describe('what does not exist', () => {
  test('a tool: exit 5 and the nearest names', async () => {
    const ended = await run(['call', 's.ecko', '--json', '-c', honest()]);
    expect(ended).toMatchObject({ code: 5, stdout: '' });
    expect(JSON.parse(ended.stderr)).toMatchObject({
      error: {
        code: 'UNKNOWN_TOOL',
        message: expect.stringContaining('nearest: echo'),
        server: 's',
        tool: 'ecko',
      },
    });
    await expectServerGone();
  });

  test('a server: exit 1, nothing is started', async () => {
    const ended = await run(['call', 'x.echo', '-c', honest()]);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toContain('server "x" is not in the config; nearest: s');
    expect(readRecord(path('record')).events).toEqual([]);
  });

  test('a config: exit 1; an entry that cannot run is named once, with its field', async () => {
    const missing = await run(['call', 's.echo', '-c', path('nosuch.json')]);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain('nosuch.json: there is no such file');
    const config = writeConfig(path('c.json'), { s: scripted({}), odd: { args: [] } });
    const ended = await run(['call', 'odd.x', '-c', config]);
    expect(ended.code).toBe(1);
    expect(ended.stderr.match(/has neither/g)).toHaveLength(1);
    expect(await run(['call', 's.echo', 'text=a', '-c', config])).toMatchObject({ code: 0, stdout: 'a\n' });
  });

  test('a command line: exit 1 with a next step and no stack trace', async () => {
    for (const args of [
      ['call'],
      ['frobnicate'],
      ['call', 'nodot'],
      ['tools', '--timeout', 'soon'],
      ['batch'],
    ]) {
      const ended = await run([...args, ...(args[0] === 'frobnicate' ? [] : ['-c', honest()])]);
      expect(ended, args.join(' ')).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).not.toBe('');
      expect(ended.stderr).not.toMatch(STACK_TRACE);
    }
    const json = await run(['call', '--json']);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'BAD_INPUT' } });
  });
});

describe('one deadline', () => {
  test('covers a handshake that hangs: exit 4', async () => {
    const config = honest({ rules: [{ method: 'initialize', reply: null }] });
    const ended = await run(['call', 's.echo', '--timeout', '3s', '--json', '-c', config]);
    expect(ended.code).toBe(4);
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'NOT_READY', server: 's' } });
    expect(ended.tookMs).toBeLessThan(12_000);
    await expectServerGone();
  });

  test('covers a tool that hangs: exit 4', async () => {
    const ended = await run(['call', 's.hang', '--timeout', '4000', '--json', '-c', honest()]);
    expect(ended.code).toBe(4);
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'TIMEOUT', server: 's', tool: 'hang' } });
    await expectServerGone();
  });

  test('is not stretched by progress', async () => {
    const args = ['call', 's.progress', 'everyMs=100', 'forMs=30000', '--timeout', '4s'];
    const ended = await run([...args, '-c', honest()]);
    expect(ended.code).toBe(4);
    expect(ended.tookMs).toBeLessThan(15_000);
    await expectServerGone();
  });

  test('a server that cannot start: exit 4 with the reason', async () => {
    const config = writeConfig(path('c.json'), { gone: { command: 'no-such-program-anywhere' } });
    const ended = await run(['call', 'gone.x', '-c', config]);
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('no-such-program-anywhere');
  });
});

describe('servers of a file that merely lies in the directory', () => {
  test('need approval: exit 3 with a hint, whatever stdin is (B167)', async () => {
    writeConfig(path('.mcp.json'), { s: scripted({ record: path('record') }) });
    const home = { HOME: path(), XDG_CONFIG_HOME: path('none') };
    for (const stdin of ['', undefined, { open: true } as const]) {
      const options = { cwd: path(), env: home, ...(stdin === undefined ? {} : { stdin }) };
      for (const args of [['call', 's.echo'], ['tools'], ['tools', 's'], ['batch', '-']]) {
        const ended = await run(args, options);
        expect(ended, args.join(' ')).toMatchObject({ code: 3, stdout: '' });
        expect(ended.stderr).toContain('--config .mcp.json');
      }
    }
    expect(readRecord(path('record')).events).toEqual([]);
    const named = await run(['call', 's.echo', 'text=a', '--config', '.mcp.json'], {
      cwd: path(),
      env: home,
    });
    expect(named).toMatchObject({ code: 0, stdout: 'a\n' });
  });
});

describe('signals', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends a call that hangs with %i and leaves no server (B173)', async (signal, code) => {
    const running = start(['call', 's.hang', '-c', honest()]);
    await recorded(path('record'), ({ methods }) => methods.includes('tools/call'));
    running.child.kill(signal);
    const ended = await running.ended;
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).not.toMatch(STACK_TRACE);
    await expectServerGone();
  });

  test('a second signal does not wait for a server that refuses to leave', async () => {
    const config = honest({ ignoreEof: true, ignoreSigterm: true });
    const running = start(['call', 's.hang', '-c', config]);
    await recorded(path('record'), ({ methods }) => methods.includes('tools/call'));
    running.child.kill('SIGINT');
    await recorded(path('record'), ({ events }) => events.some(({ event }) => event === 'eof'));
    const killedAt = performance.now();
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect(performance.now() - killedAt).toBeLessThan(1_800);
    await expectServerGone();
  });
});
