/** One entry at a time: what it is, its aliases, and what is said about a field that is wrong or unknown. */
import { serverDefaults } from '@bulkhead/workers';
import { describe, expect, it } from 'vitest';
import { resolveServers } from '../../packages/runtime/src/config/load.js';
import { configDirectory, loadServers, names, problemOf, remoteOf, specOf, stdioOf } from './directory.js';

const url = 'https://mcp.example/mcp';

describe('B105: what an entry is', () => {
  it('`command` alone is a program, `url` alone is reached over HTTP', async () => {
    const config = await loadServers({ program: { command: 'node' }, remote: { url } });
    expect(config.problems).toEqual([]);
    expect(specOf(config, 'program').launch.type).toBe('stdio');
    expect(remoteOf(config, 'remote')).toEqual({ type: 'http', url, headers: [] });
  });

  it('neither is an error that says so', async () => {
    const config = await loadServers({ s: { args: ['x'] } });
    expect(problemOf(config, 's').message).toContain('neither `command` (a program to start) nor `url`');
    expect(config.rejected.map(({ name }) => name)).toEqual(['s']);
  });

  it('with both the type decides, and without a type that is an error', async () => {
    const both = { command: 'node', url };
    const config = await loadServers({
      both,
      program: { ...both, type: 'stdio' },
      remote: { ...both, type: 'http' },
    });
    expect(problemOf(config, 'both').message).toBe('has both `command` and `url`');
    expect(specOf(config, 'program').launch.type).toBe('stdio');
    expect(problemOf(config, 'program')).toMatchObject({ severity: 'warning', field: 'url' });
    expect(specOf(config, 'remote').launch.type).toBe('http');
    expect(problemOf(config, 'remote')).toMatchObject({ severity: 'warning', field: 'command' });
  });

  it('a type without its field is an error', async () => {
    const config = await loadServers({ a: { type: 'stdio', url }, b: { type: 'sse', command: 'node' } });
    expect(problemOf(config, 'a')).toMatchObject({ severity: 'error', field: 'type' });
    expect(problemOf(config, 'b').message).toBe('says "sse", but the entry has no `url`');
  });
});

describe('B106: spellings of the transport', () => {
  const spellings = [
    'http',
    'HTTP',
    'streamable-http',
    'streamableHttp',
    'streamable_http',
    'Streamable HTTP',
  ];
  it.each(spellings)('"%s" is streamable HTTP, as `type` and as `transport`', async (type) => {
    const config = await loadServers({ a: { type, url }, b: { transport: type, url: `${url}/b` } });
    expect(config.problems).toEqual([]);
    expect([remoteOf(config, 'a').type, remoteOf(config, 'b').type]).toEqual(['http', 'http']);
  });

  it('"SSE" and "Stdio" mean what they say', async () => {
    const config = await loadServers({ a: { type: 'SSE', url }, b: { transport: 'Stdio', command: 'node' } });
    expect([specOf(config, 'a').launch.type, specOf(config, 'b').launch.type]).toEqual(['sse', 'stdio']);
  });

  it('an unknown transport costs that entry only', async () => {
    const config = await loadServers({ ws: { type: 'websocket', url }, good: { url } });
    expect(names(config)).toEqual(['good']);
    expect(problemOf(config, 'ws')).toMatchObject({ field: 'type', message: '"websocket" is no transport' });
    expect(problemOf(config, 'ws').hint).toContain('"streamable-http"');
  });
});

describe('B107: a bad entry beside a good one', () => {
  it.each<[string, unknown, string | undefined, string]>([
    ['serverUrl', { serverUrl: url }, undefined, 'has neither'],
    ['a text', 'npx server', undefined, 'expected an object, got a string'],
    ['an array', ['node'], undefined, 'expected an object, got an array'],
    ['null', null, undefined, 'expected an object, got null'],
    ['command: 1', { command: 1 }, 'command', 'expected a string, got 1'],
    ['command: []', { command: ['node', 'x'] }, 'command', 'expected a string, got an array'],
    ['command: " "', { command: ' ' }, 'command', 'is empty'],
    ['args: "x"', { command: 'a', args: 'x' }, 'args', 'expected an array of strings, got a string'],
    ['args: [{}]', { command: 'a', args: ['x', {}] }, 'args.1', 'expected a string, got an object'],
    ['env: []', { command: 'a', env: [] }, 'env', 'expected an object of strings, got an array'],
    [
      'env: {X: {}}',
      { command: 'a', env: { X: {} } },
      'env.X',
      'expected a string, or null to remove it, got an object',
    ],
    ['env: {"A=B": ""}', { command: 'a', env: { 'A=B': '' } }, 'env.A=B', 'is no name of a variable'],
    ['cwd: 1', { command: 'a', cwd: 1 }, 'cwd', 'expected a string, got 1'],
    ['a NUL', { command: 'a', args: ['b\0c'] }, 'args.0', 'holds a NUL character'],
    ['url: "x"', { url: 'mcp.example/mcp' }, 'url', '"mcp.example/mcp" is no URL'],
    ['url: "ws:"', { url: 'ws://mcp.example' }, 'url', '"ws:" URLs are not supported'],
    ['url with password', { url: 'https://a:b@mcp.example' }, 'url', 'holds a user name or password'],
    ['headers: "x"', { url, headers: 'x' }, 'headers', 'expected an object of strings, got a string'],
    ['header name', { url, headers: { 'a b': 'x' } }, 'headers.a b', 'is no name of a header'],
    ['header break', { url, headers: { a: 'x\ny' } }, 'headers.a', 'holds a character that a header cannot'],
    ['disabled: "no"', { url, disabled: 'no' }, 'disabled', 'expected true or false, got a string'],
    ['lifecycle', { url, lifecycle: 'later' }, 'lifecycle', 'expected "eager" or "lazy", got a string'],
    ['window: 0', { url, window: 0 }, 'window', 'expected 1 to 65536, got 0'],
    ['window: 1.5', { url, window: 1.5 }, 'window', 'expected a whole number, got 1.5'],
    [
      'maxMessageBytes',
      { url, maxMessageBytes: '1MB' },
      'maxMessageBytes',
      'expected a whole number, got a string',
    ],
  ])('%s is reported with its field and line, the rest works', async (_, bad, field, message) => {
    const config = await loadServers({ good: { command: 'node' }, bad });
    expect(names(config)).toEqual(['good']);
    const problem = config.problems.find(({ severity }) => severity === 'error');
    expect(problem).toMatchObject({ severity: 'error', server: 'bad', line: expect.any(Number) });
    expect(problem?.file).toMatch(/\.mcp\.json$/);
    expect(problem?.field).toBe(field);
    expect(problem?.message).toContain(message);
    expect(config.rejected).toEqual([{ name: 'bad', problem }]);
  });

  it('every bad field is reported, each with its own line', async () => {
    const directory = await configDirectory({
      project:
        '{"mcpServers": {\n"s": {\n"command": 1,\n"args": [\n"ok",\n[]\n],\n"env": {\n"A": "1",\n"B": []}}}}',
    });
    const config = await directory.load();
    expect(config.problems.map(({ field, line }) => [field, line])).toEqual([
      ['command', 3],
      ['args.1', 6],
      ['env.B', 10],
    ]);
  });

  it('no message repeats what stands in env or headers', async () => {
    const secret = 'hunter2';
    const config = await loadServers({
      a: { command: 'x', env: { K: [secret] } },
      b: { url, headers: { K: `${secret}\n.` } },
      c: { url: `https://${secret}:${secret}@mcp.example` },
      d: { url, callTimeoutMs: [secret] },
    });
    expect(config.rejected).toHaveLength(4);
    expect(JSON.stringify(config.problems)).not.toContain(secret);
  });

  it('the name "" is an error', async () => {
    expect(problemOf(await loadServers({ '': { command: 'node' } }), '').message).toBe('the name is empty');
  });
});

describe('values that mean well', () => {
  it('numbers and booleans in args, env and headers become texts', async () => {
    const config = await loadServers({
      a: { command: 'x', args: ['--port', 8080, true], env: { PORT: 8080, DEBUG: false } },
      b: { url, headers: { 'X-Version': 3 } },
    });
    expect(stdioOf(config, 'a').args).toEqual(['--port', '8080', 'true']);
    expect(stdioOf(config, 'a').env).toContainEqual(['PORT', '8080']);
    expect(stdioOf(config, 'a').env).toContainEqual(['DEBUG', 'false']);
    expect(remoteOf(config, 'b').headers).toEqual([['X-Version', '3']]);
  });

  it('null in a field means that it is not set', async () => {
    const config = await loadServers({
      s: { command: 'node', args: null, env: null, cwd: null, url: null, timeout: null, disabled: null },
    });
    expect(config.problems).toEqual([]);
    expect(specOf(config, 's')).toMatchObject({ disabled: false, options: serverDefaults });
  });

  it('header values lose the line break of the file they were read from', async () => {
    const config = await loadServers({ s: { url, headers: { A: `Bearer \${T}` } } }, { T: 'abc\n' });
    expect(remoteOf(config, 's').headers).toEqual([['A', 'Bearer abc']]);
  });
});

describe('B113: keys that are not ours', () => {
  it.each([
    ['serverUrl', 'did you mean "url"?'],
    ['httpUrl', 'did you mean "url"?'],
    ['transportType', 'did you mean "type"?'],
    ['working_directory', 'did you mean "cwd"?'],
    ['comand', 'did you mean "command"?'],
    ['Args', 'did you mean "args"?'],
    ['startup_timeout_sec', 'did you mean "startupTimeoutMs"?'],
    ['call_timeout_ms', 'did you mean "callTimeoutMs"?'],
    ['flux', 'known fields: '],
  ])('"%s" is a warning with a suggestion', async (key, hint) => {
    const config = await loadServers({ s: { command: 'node', [key]: 'x' } });
    expect(names(config)).toEqual(['s']);
    expect(problemOf(config, 's')).toMatchObject({ severity: 'warning', field: key, line: 5 });
    expect(problemOf(config, 's').hint).toContain(hint);
  });

  it('when the misspelt key was the one that matters, the error says to rename it', async () => {
    const config = await loadServers({ s: { serverUrl: url } });
    expect(config.rejected[0]?.problem.hint).toBe('rename "serverUrl" to "url"');
  });

  it('fields inside a `transport` object are said to be unread', async () => {
    const config = await loadServers({ s: { url, transport: { type: 'http', headers: { A: 'x' } } } });
    expect(remoteOf(config, 's').headers).toEqual([]);
    expect(config.problems.map(({ severity, field, hint }) => [severity, field, hint])).toEqual([
      ['warning', 'transport.type', 'move it up into the entry as "type"'],
      ['warning', 'transport.headers', 'move it up into the entry as "headers"'],
    ]);
  });

  it('fields of the other kind of server are said to be unused', async () => {
    const config = await loadServers({ s: { url, args: ['x'] }, t: { command: 'node', headers: {} } });
    expect(problemOf(config, 's')).toMatchObject({ severity: 'warning', field: 'args' });
    expect(problemOf(config, 't')).toMatchObject({ severity: 'warning', field: 'headers' });
  });

  it('keys of other hosts and notes pass without a word', async () => {
    const foreign = { autoApprove: [], alwaysAllow: ['x'], disabledTools: [], description: 'd', icon: 'i' };
    const notes = { gallery: true, version: '1', _note: 'n', $schema: 's', '//': 'c', 'x-ours': 1 };
    const config = await loadServers({ s: { command: 'node', ...foreign, ...notes } });
    expect(config.problems).toEqual([]);
  });

  it('a key called __proto__ is a warning like any other', async () => {
    const directory = await configDirectory({
      project: '{"mcpServers": {"s": {"command": "node", "__proto__": {"url": "x"}}}}',
    });
    const config = await directory.load();
    // Notes start with an underscore, so nothing is said; nothing is inherited either.
    expect(config.problems).toEqual([]);
    expect(stdioOf(config, 's').command).toBe('node');
  });
});

describe('B115: timeouts', () => {
  it.each<[unknown, number]>([
    [60_000, 60_000],
    ['60s', 60_000],
    ['2m', 120_000],
    ['500ms', 500],
    ['60000', 60_000],
    [null, serverDefaults.callTimeoutMs],
  ])('`timeout: %j` is %d ms without a word', async (timeout, ms) => {
    const config = await loadServers({ s: { command: 'node', timeout } });
    expect(config.problems).toEqual([]);
    expect(specOf(config, 's').options.callTimeoutMs).toBe(ms);
  });

  it.each([60, '60'])(
    '`timeout: %j` is taken as milliseconds, and a warning asks about seconds',
    async (timeout) => {
      const config = await loadServers({ s: { command: 'node', timeout } });
      expect(specOf(config, 's').options.callTimeoutMs).toBe(60);
      expect(problemOf(config, 's')).toMatchObject({
        severity: 'warning',
        field: 'timeout',
        message: '60 means 60 milliseconds here',
        hint: 'write "60s" if seconds are meant, "60ms" if not',
      });
    },
  );

  it.each([-1, 0, 'soon', 2 ** 31, {}])('`timeout: %j` is an error of that entry', async (timeout) => {
    const config = await loadServers({ s: { command: 'node', timeout }, t: { command: 'node' } });
    expect(names(config)).toEqual(['t']);
    expect(problemOf(config, 's')).toMatchObject({ severity: 'error', field: 'timeout' });
    expect(problemOf(config, 's').hint).toContain('for the default');
  });

  it('`callTimeoutMs` counts beside `timeout`, and a unit in the name needs no warning', async () => {
    const config = await loadServers({ s: { command: 'node', timeout: 60, callTimeoutMs: 70 } });
    expect(specOf(config, 's').options.callTimeoutMs).toBe(70);
    expect(problemOf(config, 's').message).toContain('`timeout` is not read');
  });

  it('a longer idle limit raises a hard limit that nobody wrote', async () => {
    const config = await loadServers({
      a: { command: 'a', callTimeoutMs: '2h' },
      b: { command: 'b', callTimeoutMs: '2h', callMaxMs: '1h' },
    });
    expect(specOf(config, 'a').options.callMaxMs).toBe(7_200_000);
    expect(specOf(config, 'b').options.callMaxMs).toBe(3_600_000);
    expect(problemOf(config, 'b')).toMatchObject({ severity: 'warning', field: 'callMaxMs' });
  });

  it('every option can be set per server', async () => {
    const options = {
      startupTimeoutMs: 5_000,
      callTimeoutMs: 6_000,
      callMaxMs: 7_000,
      window: 1,
      queueMax: 0,
      queueMaxBytes: 100,
      maxMessageBytes: 4_096,
      spillBytes: 2_000_000,
      askTimeoutMs: 9_000,
      logMaxBytes: 8_192,
    };
    const config = await loadServers({
      s: { command: 'node', ...options, lifecycle: 'lazy', idleStopMs: '5m' },
      plain: { command: 'plain' },
    });
    expect(specOf(config, 's')).toMatchObject({ options, lifecycle: 'lazy', idleStopMs: 300_000 });
    expect(specOf(config, 'plain')).toMatchObject({
      options: serverDefaults,
      lifecycle: 'eager',
      idleStopMs: 0,
    });
    expect(Object.keys(options).sort()).toEqual(Object.keys(serverDefaults).sort());
  });

  it('MCP_TIMEOUT and MCP_TOOL_TIMEOUT set the defaults below the entries', async () => {
    const servers = { a: { command: 'a' }, b: { command: 'b', callTimeoutMs: 1, startupTimeoutMs: 2 } };
    const config = await loadServers(servers, { MCP_TIMEOUT: '7000', MCP_TOOL_TIMEOUT: '2m' });
    expect(specOf(config, 'a').options).toMatchObject({ startupTimeoutMs: 7_000, callTimeoutMs: 120_000 });
    expect(specOf(config, 'b').options).toMatchObject({ startupTimeoutMs: 2, callTimeoutMs: 1 });
  });

  it.each(['soon', '-5', '0', '99999999999'])(
    'MCP_TIMEOUT=%s is a warning and the default stays',
    async (text) => {
      const config = await loadServers({ s: { command: 'node' } }, { MCP_TIMEOUT: text });
      expect(specOf(config, 's').options.startupTimeoutMs).toBe(serverDefaults.startupTimeoutMs);
      expect(problemOf(config)).toMatchObject({ severity: 'warning', field: 'MCP_TIMEOUT' });
      expect(problemOf(config).message).toContain(`"${text}"`);
    },
  );
});

describe('B118: one endpoint under two names', () => {
  it('is a warning that names both', async () => {
    const same = { command: 'node', args: ['s.js'], env: { A: '1' } };
    const config = await loadServers({
      one: same,
      two: { ...same, type: 'stdio', timeout: '5s' },
      three: { ...same, args: ['t.js'] },
      four: { ...same, env: { A: '2' } },
      five: { ...same, cwd: '/' },
      off: { ...same, disabled: true },
      http: { url },
      http2: { url, headers: {} },
      http3: { url, headers: { A: 'b' } },
    });
    expect(names(config)).toHaveLength(9);
    expect(config.problems.map(({ severity, server, message }) => [severity, server, message])).toEqual([
      [
        'warning',
        'http2',
        'is the same endpoint as server "http": it runs twice and offers every tool twice',
      ],
      ['warning', 'two', 'is the same endpoint as server "one": it runs twice and offers every tool twice'],
    ]);
  });
});

describe('entries given in code', () => {
  const env = { PATH: '/bin', HOME: '/home/me', TOKEN: 't' };

  it('follow the same rules, from the given directory', () => {
    const config = resolveServers(
      {
        good: { command: './s.js', args: [`\${TOKEN}`], env: { GONE: undefined, X: '1' }, cwd: undefined },
        bad: { command: 1 },
        remote: { url, headers: { A: `\${NOPE}` } },
      },
      { cwd: '/base', env },
    );
    expect(stdioOf(config, 'good')).toEqual({
      type: 'stdio',
      command: '/base/s.js',
      args: ['t'],
      env: [
        ['HOME', '/home/me'],
        ['PATH', '/bin'],
        ['X', '1'],
      ],
      cwd: '/base',
    });
    expect(config.servers[0]).toMatchObject({ scope: 'code' });
    expect(config.rejected.map(({ name }) => name)).toEqual(['bad', 'remote']);
    expect(problemOf(config, 'bad')).toEqual({
      severity: 'error',
      server: 'bad',
      field: 'command',
      message: 'expected a string, got 1',
    });
    expect(config.files).toEqual([]);
    expect(config.projectDir).toBe('/base');
  });

  it('B103: own keys count, whatever they are called; a Map does as well', () => {
    const servers = JSON.parse('{"__proto__": {"command": "a"}, "constructor": {"command": "b"}}');
    expect(names(resolveServers(servers, { cwd: '/', env }))).toEqual(['__proto__', 'constructor']);
    expect(names(resolveServers(new Map([['toString', { command: 'c' }]]), { cwd: '/', env }))).toEqual([
      'toString',
    ]);
    expect(names(resolveServers(Object.create({ inherited: { command: 'a' } }), { cwd: '/', env }))).toEqual(
      [],
    );
  });
});
