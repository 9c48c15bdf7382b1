import { writeFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { alive, useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { RawHost } from '../support/raw-host.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { type Script, type ServerEntry, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

const watched = useCensus();
const temp = useTempDir();
const hosts: RawHost[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.dispose()));
});

function start(script: Script, extra: Partial<ServerEntry> = {}): RawHost {
  const host = new RawHost({ ...scripted(script), ...extra });
  hosts.push(host);
  return host;
}

async function ready(script: Script, extra: Partial<ServerEntry> = {}): Promise<RawHost> {
  const host = start(script, extra);
  await host.handshake();
  return host;
}

function textOf(message: { result?: Record<string, unknown> }): string {
  const [block] = (message.result?.content ?? []) as { text: string }[];
  return block?.text ?? '';
}

describe('an empty script', () => {
  test('is an honest server: handshake, ping, tools, and a polite exit at the end of its input', async () => {
    const host = start({});
    const hello = await host.handshake('2025-11-25');
    expect(hello.result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'scripted' } });
    expect((await host.request('ping')).result).toEqual({});
    const listed = (await host.request('tools/list')).result?.tools as { name: string }[];
    expect(listed.map((tool) => tool.name)).toContain('echo');
    expect((await host.request('prompts/list')).error?.code).toBe(-32601);
    host.endInput();
    expect(await host.exited).toEqual({ code: 0, signal: null });
  });

  test('has tools that echo, fail, fill, tell where they are and what they see', async () => {
    const host = await ready({}, { cwd: temp(), env: { SEEN: 'yes' } });
    expect(textOf(await host.call('echo', { text: '读—🎉' }))).toBe('读—🎉');
    expect((await host.call('fail', { text: 'no' })).result).toMatchObject({ isError: true });
    expect(textOf(await host.call('big', { bytes: 300_000 }))).toHaveLength(300_000);
    expect(textOf(await host.call('cwd'))).toBe(temp());
    expect(JSON.parse(textOf(await host.call('env')))).toMatchObject({ SEEN: 'yes' });
    expect((await host.call('nothing')).error?.code).toBe(-32602);
  });

  test('has tools that report progress, notify, write to stderr, sleep, block and hang', async () => {
    const host = await ready({});
    const hanging = host.send('tools/call', { name: 'hang' });
    await host.request('tools/call', {
      name: 'progress',
      arguments: { everyMs: 5, forMs: 20 },
      _meta: { progressToken: 'p' },
    });
    expect(host.messages.filter((message) => message.method === 'notifications/progress')).toHaveLength(4);
    await host.call('emit', { method: 'notifications/tools/list_changed' });
    expect(host.messages.some((message) => message.method === 'notifications/tools/list_changed')).toBe(true);
    await host.call('stderr', { text: 'oh no' });
    await eventually(
      () => host.stderr === 'oh no',
      () => 'the text on stderr',
    );
    const slow = host.send('tools/call', { name: 'sleep', arguments: { ms: 30 } });
    const quick = host.send('tools/call', { name: 'echo', arguments: { text: 'first' } });
    await host.until((message) => message.id === slow);
    const order = host.messages.map((message) => message.id);
    expect(order.indexOf(quick)).toBeLessThan(order.indexOf(slow));
    const started = performance.now();
    await host.call('block', { ms: 60 });
    expect(performance.now() - started).toBeGreaterThanOrEqual(60);
    expect(order).not.toContain(hanging);
  });

  test('may stand in a file', async () => {
    writeFileSync(temp('script.json'), JSON.stringify({ serverInfo: { name: 'filed', version: '2' } }));
    const entry = scripted({});
    const host = start({}, { args: [...entry.args.slice(0, 1), temp('script.json')] });
    expect((await host.handshake()).result?.serverInfo).toEqual({ name: 'filed', version: '2' });
  });
});

describe('the form of messages', () => {
  const lineOf = async (script: Script): Promise<string> => {
    const host = start(script);
    const id = host.send('ping');
    await eventually(
      () => host.output.includes(`"id":${id}`) || host.output.includes(`"id":"${id}"`),
      () => `the reply; stdout: ${host.output}`,
    );
    host.endInput();
    await host.exited;
    return host.output;
  };
  const reply = '{"jsonrpc":"2.0","id":1,"result":{}}';

  test.each<[string, Script, string]>([
    ['CRLF line ends', { wire: { eol: '\r\n' } }, `${reply}\r\n`],
    ['no line end', { wire: { eol: '' } }, reply],
    ['a byte order mark', { wire: { bom: true } }, `\u{feff}${reply}\n`],
    ['a batch', { wire: { batch: true } }, `[${reply}]\n`],
    ['string ids', { wire: { stringIds: true } }, `${reply.replace('1,', '"1",')}\n`],
    ['copies', { wire: { copies: 2 } }, `${reply}\n${reply}\n`],
    ['header framing', { wire: { contentLength: true } }, `Content-Length: 36\r\n\r\n${reply}`],
    ['noise between messages', { wire: { noise: ['[INFO] x', '123'] } }, `[INFO] x\n123\n${reply}\n`],
  ])('%s', async (_name, script, expected) => {
    expect(await lineOf(script)).toBe(expected);
  });

  test('bytes leave in pieces, in order, and characters are cut', async () => {
    const host = await ready({ wire: { pieceBytes: 1, pieceDelayMs: 1 } });
    const before = host.chunks.length;
    expect(textOf(await host.call('echo', { text: '读—🎉' }))).toBe('读—🎉');
    expect(host.chunks.length - before).toBeGreaterThan(20);
  });
});

describe('rules', () => {
  test('answer the k-th request with given bytes and leave the others alone', async () => {
    const raw = '{"jsonrpc":"2.0","id":$id,"result":{"n":$n}}\n';
    const rules: Script['rules'] = [{ method: 'ping', nth: 2, reply: { bytes: ['junk\n', raw] } }];
    const host = start({ rules });
    expect((await host.request('ping')).result).toEqual({});
    expect((await host.request('ping')).result).toEqual({ n: 2 });
    expect((await host.request('ping')).result).toEqual({});
    expect(host.lines).toContain('junk');
  });

  test('write before and after a reply, with the types of templates kept', async () => {
    const early = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const late = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'for $id', id: '$id' } };
    const rules: Script['rules'] = [
      { method: 'initialize', before: [{ json: early }], after: [{ json: late }, { hex: '0a' }] },
    ];
    const host = start({ rules });
    const { id } = await host.handshake();
    const data = await host.until((message) => message.method === 'notifications/message');
    expect(host.messages.map((message) => message.method ?? 'reply')).toEqual([
      'notifications/tools/list_changed',
      'reply',
      'notifications/message',
    ]);
    expect(data.params).toEqual({ data: `for ${id}`, id });
  });

  test('choose by tool and by parameters; null asks for absence', async () => {
    const rules: Script['rules'] = [
      { method: 'tools/list', where: { cursor: null }, reply: { result: { tools: [], nextCursor: '' } } },
      { method: 'tools/list', where: { cursor: '' }, reply: { result: { tools: [] } } },
      { method: 'tools/call', tool: 'echo', reply: { error: { code: -32000, message: 'no echo' } } },
    ];
    const host = await ready({ rules });
    expect((await host.request('tools/list')).result).toEqual({ tools: [], nextCursor: '' });
    expect((await host.request('tools/list', { cursor: '' })).result).toEqual({ tools: [] });
    expect((await host.call('echo')).error).toEqual({ code: -32000, message: 'no echo' });
    expect(textOf(await host.call('cwd'))).not.toBe('');
  });

  test('keep silent and go on writing', async () => {
    const params = { progressToken: '$token', progress: 1 };
    const write = [{ json: { jsonrpc: '2.0', method: 'notifications/progress', params } }];
    const host = start({
      rules: [{ method: 'initialize', reply: null, repeat: { everyMs: 5, write, times: 3 } }],
    });
    const id = host.send('initialize', { _meta: { progressToken: 7 } });
    await eventually(
      () => host.messages.length === 3,
      () => 'three notifications',
    );
    expect(host.messages[0]?.params).toEqual({ progressToken: 7, progress: 1 });
    expect(host.messages.some((message) => message.id === id)).toBe(false);
  });

  test('end the process in the middle of the handshake, with a traceback', async () => {
    const exit = { code: 3, stderr: 'Traceback (most recent call last)\n' };
    const host = start({ rules: [{ method: 'initialize', reply: null, exit }] });
    host.send('initialize');
    expect(await host.exited).toEqual({ code: 3, signal: null });
    expect(host.stderr).toBe('Traceback (most recent call last)\n');
    expect(host.output).toBe('');
  });

  test('delay a reply behind the next ones', async () => {
    const host = await ready({ rules: [{ method: 'tools/call', times: 1, delayMs: 40 }] });
    const late = host.send('tools/call', { name: 'echo', arguments: { text: 'late' } });
    const next = host.send('tools/call', { name: 'echo', arguments: { text: 'next' } });
    await host.until((message) => message.id === late);
    expect(host.messages.map((message) => message.id).slice(-2)).toEqual([next, late]);
  });
});

describe('strictness about the handshake', () => {
  test('a version it does not know is an error that lists the known ones', async () => {
    const host = start({ requireVersions: ['2025-06-18'] });
    const refused = await host.request('initialize', { protocolVersion: '2026-07-28' });
    expect(refused.error?.data).toEqual({ supported: ['2025-06-18'], requested: '2026-07-28' });
    expect((await host.handshake('2025-06-18')).result?.protocolVersion).toBe('2025-06-18');
  });

  test('an old version is offered whatever was asked for', async () => {
    expect((await start({ protocolVersion: '2024-11-05' }).handshake()).result?.protocolVersion).toBe(
      '2024-11-05',
    );
  });

  test('a request before notifications/initialized is refused, or sees fewer tools', async () => {
    const strict = start({ requireInitialized: 'error' });
    await strict.request('initialize', { protocolVersion: '2025-06-18' });
    expect((await strict.request('tools/list')).error?.code).toBe(-32600);
    strict.notify('notifications/initialized');
    expect((await strict.request('tools/list')).error).toBeUndefined();

    const shy = start({ requireInitialized: 'fewer-tools' });
    await shy.request('initialize', { protocolVersion: '2025-06-18' });
    expect((await shy.request('tools/list')).result?.tools).toHaveLength(1);
  });

  test('a request before initialize is ignored, or the end', async () => {
    const deaf = start({ beforeInitialize: 'ignore' });
    const probe = deaf.send('server/discover');
    await deaf.handshake();
    expect(deaf.messages.some((message) => message.id === probe)).toBe(false);

    const touchy = start({ beforeInitialize: 'exit' });
    touchy.send('server/discover');
    expect((await touchy.exited).code).toBe(1);
  });
});

describe('tools/list', () => {
  test('comes in pages', async () => {
    const host = await ready({ tools: [], toolCount: 4, pageSize: 2 });
    const names: string[] = [];
    let pages = 0;
    let cursor: string | undefined;
    do {
      pages++;
      const { result } = await host.request('tools/list', cursor === undefined ? {} : { cursor });
      names.push(...((result?.tools ?? []) as { name: string }[]).map((tool) => tool.name));
      cursor = result?.nextCursor as string | undefined;
    } while (cursor !== undefined);
    expect(names).toEqual(['tool_1', 'tool_2', 'tool_3', 'tool_4']);
    expect(pages).toBe(2);
  });

  test('holds the tools of the script, which give their arguments back', async () => {
    const host = await ready({ tools: [{ name: 'mine', inputSchema: { type: 'object' } }] });
    expect((await host.request('tools/list')).result?.tools).toHaveLength(1);
    expect(textOf(await host.call('mine', { a: 1 }))).toBe('{"a":1}');
  });
});

describe('coming and going', () => {
  test('it exits at its start, with a traceback', async () => {
    const host = start({ exitAtStart: { code: 1, stderr: 'ImportError\n' } });
    expect(await host.exited).toEqual({ code: 1, signal: null });
    expect(host.stderr).toBe('ImportError\n');
  });

  test('it exits after n requests, answered or not', async () => {
    const kind = start({ exitAfter: { requests: 2, code: 4 } });
    await kind.handshake();
    kind.send('ping');
    expect((await kind.exited).code).toBe(4);
    expect(kind.messages).toHaveLength(2);

    const rude = start({ exitAfter: { requests: 2, answered: false, signal: 'SIGKILL' } });
    await rude.handshake();
    rude.send('ping');
    expect((await rude.exited).signal).toBe('SIGKILL');
    expect(rude.messages).toHaveLength(1);
  });

  test('the first launches fail, the next one works', async () => {
    const script: Script = { launches: { file: temp('count'), scripts: [{ exitAtStart: { code: 1 } }] } };
    expect((await start(script).exited).code).toBe(1);
    expect((await start(script).handshake()).result).toBeDefined();
  });

  test('it ignores SIGTERM and the end of its input, writes both down, and falls to SIGKILL', async () => {
    const record = temp('record.jsonl');
    const host = await ready({ record, ignoreSigterm: true, ignoreEof: true });
    host.endInput();
    await recorded(record, ({ events }) => events.some(({ event }) => event === 'eof'));
    host.kill('SIGTERM');
    await recorded(record, ({ events }) => events.some(({ event }) => event === 'signal'));
    expect(alive(host.pid)).toBe(true);
    host.kill('SIGKILL');
    expect(await host.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('without that it dies of SIGTERM, also while it keeps a record', async () => {
    const host = await ready({ record: temp('record.jsonl') });
    host.kill('SIGTERM');
    expect(await host.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(readRecord(temp('record.jsonl')).events).toContainEqual({ event: 'signal', signal: 'SIGTERM' });
  });

  test('a keep-alive leaves when its input ends', async () => {
    const host = await ready({ keepAliveMs: 1_000 });
    host.endInput();
    expect((await host.exited).code).toBe(0);
  });

  test('it reads nothing before its delay is over', async () => {
    const started = performance.now();
    await ready({ startDelayMs: 300 });
    expect(performance.now() - started).toBeGreaterThanOrEqual(300);
  });

  test('a grandchild outlives it, with the pipe in its hand', async () => {
    const pidFile = temp('grandchild');
    const host = await ready({ grandchild: { pidFile, holdStdout: true } });
    const grandchild = await pidFrom(pidFile);
    watched.watch(grandchild);
    host.endInput();
    await host.exited;
    expect(alive(grandchild)).toBe(true);
    process.kill(grandchild, 'SIGKILL');
  });
});

describe('unasked bytes', () => {
  test('a flood on stdout without a line end stops at its size', async () => {
    const host = start({ floods: [{ stream: 'stdout', bytes: 200_000, on: 'ping' }], rules: [] });
    host.send('ping');
    await eventually(
      () => host.output.length >= 200_000,
      () => `the flood, ${host.output.length} bytes came`,
    );
    host.endInput();
    await host.exited;
    expect(host.output.replace(/\{.*\}\n/, '')).toBe('x'.repeat(200_000));
  });

  test('a flood on stderr with carriage returns goes on while calls are answered', async () => {
    const host = await ready({ floods: [{ stream: 'stderr', lineBytes: 20, separator: '\r' }] });
    await eventually(
      () => host.stderr.length > 500_000,
      () => 'the flood',
    );
    expect(host.stderr.slice(0, 20)).toBe(`${'x'.repeat(19)}\r`);
    expect(textOf(await host.call('echo', { text: 'still here' }))).toBe('still here');
  });

  test('a missed pong makes it leave, an answered one does not', async () => {
    const host = await ready({ pings: { everyMs: 30, exitAfterMissed: 1 } });
    const ping = await host.until((message) => message.method === 'ping');
    host.write(`${JSON.stringify({ jsonrpc: '2.0', id: ping.id, result: {} })}\n`);
    expect((await host.exited).code).toBe(9);
    expect(host.messages.filter((message) => message.method === 'ping').length).toBeGreaterThan(2);
  });
});

test('the record holds every message as it came, and the pid file the pid', async () => {
  const script = { record: temp('record.jsonl'), pidFile: temp('pid') };
  const host = await ready(script);
  expect(await pidFrom(script.pidFile)).toBe(host.pid);
  host.write('not json\n');
  host.notify('notifications/cancelled', { requestId: 1 });
  await host.request('ping');
  const { messages, methods, events } = readRecord(script.record);
  expect(methods).toEqual(['initialize', 'notifications/initialized', 'notifications/cancelled', 'ping']);
  expect(messages[2]?.params).toEqual({ requestId: 1 });
  expect(events).toEqual([
    { event: 'launch', pid: host.pid },
    { event: 'garbage', text: 'not json' },
  ]);
});

test('a script that does not fit into an argument is refused with the size', () => {
  expect(() => scripted({ instructions: 'x'.repeat(130_000) })).toThrow(/130\d\d\d bytes/);
});
