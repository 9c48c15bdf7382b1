import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { parseLines, run, start, writeConfig } from './cli.js';
import { ServedClient } from './served-client.js';

const { watch } = useCensus();
const path = useTempDir();
const rawServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./raw-server.mjs', import.meta.url))],
};

const clients: ServedClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.leave()));
});
const useClient = (...args: ConstructorParameters<typeof ServedClient>): ServedClient => {
  const client = new ServedClient(...args);
  clients.push(client);
  return client;
};

type Named = { name: string }[];
const names = (list: unknown): string[] => (list as Named).map(({ name }) => name);
const textOf = (result: Record<string, unknown>): string =>
  (result.content as { text: string }[]).map(({ text }) => text).join('');

/** Two servers that each have `echo`, one of them with more. */
function two(script: Parameters<typeof scripted>[0] = {}): string {
  return writeConfig(path('c.json'), {
    a: scripted({ record: path('a'), pidFile: path('a.pid'), ...script }),
    b: scripted({ record: path('b'), pidFile: path('b.pid') }),
  });
}

describe('all servers as one over stdio', () => {
  test('tools of every server under full names, each call to its own', async () => {
    const client = useClient(['-c', two()]);
    const { serverInfo } = await client.initialize();
    expect(serverInfo).toMatchObject({ name: 'bulkhead' });
    const { tools } = await client.ask('tools/list');
    expect(names(tools)).toEqual(expect.arrayContaining(['mcp__a__echo', 'mcp__b__echo']));
    const result = await client.ask('tools/call', { name: 'mcp__b__echo', arguments: { text: 'hello' } });
    expect(result).toEqual({ content: [{ type: 'text', text: 'hello' }] });
    expect(readRecord(path('a')).methods).not.toContain('tools/call');
    expect(readRecord(path('b')).methods).toContain('tools/call');
    expect(await client.leave()).toMatchObject({ code: 0, stderr: '' });
    for (const name of ['a', 'b']) watch(await pidFrom(path(`${name}.pid`)));
  });

  test('a separator, no prefix, and a choice of servers', async () => {
    const config = two();
    const separated = useClient(['-c', config, '--separator', '.']);
    await separated.initialize();
    expect(names((await separated.ask('tools/list')).tools)).toContain('a.echo');
    await separated.leave();
    // What both have keeps its prefix.
    const plain = useClient(['-c', config, '--no-prefix']);
    await plain.initialize();
    expect(names((await plain.ask('tools/list')).tools)).toContain('mcp__a__echo');
    await plain.leave();
    const chosen = useClient(['-c', config, '--no-prefix', '--servers', 'b']);
    await chosen.initialize();
    expect(names((await chosen.ask('tools/list')).tools)).toContain('echo');
    expect(await chosen.ask('tools/call', { name: 'echo', arguments: { text: 'x' } })).toMatchObject({
      content: [{ text: 'x' }],
    });
    await chosen.leave();
    const wrong = await run(['serve', '-c', config, '--servers', 'c']);
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toContain('server "c" is not in the config');
  });

  test('digits of big integers survive both ways (B094)', async () => {
    const client = useClient(['-c', writeConfig(path('c.json'), { r: rawServer })]);
    await client.initialize();
    client.write(
      '{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"mcp__r__raw","arguments":{"id":1915883588174806059}}}',
    );
    const { result } = await client.answer('big');
    expect(textOf(result ?? {})).toContain('{"id":1915883588174806059}');
    expect(client.running.stdout()).toContain('"structuredContent":{"id": 1915883588174806058}');
    await client.leave();
  });

  test('an error of a tool stays one, progress comes through, and a cancelled call is cancelled at its server', async () => {
    const progress = {
      json: {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: '$token', progress: 1, total: 2 },
      },
    };
    const config = two({
      rules: [
        { method: 'tools/call', tool: 'echo', nth: 2, reply: null },
        { method: 'tools/call', tool: 'echo', nth: 1, before: [progress] },
      ],
    });
    const client = useClient(['-c', config]);
    await client.initialize();
    expect(
      await client.ask('tools/call', { name: 'mcp__a__fail', arguments: { text: 'full' } }),
    ).toMatchObject({
      isError: true,
    });
    await client.ask('tools/call', {
      name: 'mcp__a__echo',
      arguments: { text: 'x' },
      _meta: { progressToken: 'p' },
    });
    expect((await client.notification('notifications/progress')).params).toEqual({
      progressToken: 'p',
      progress: 1,
      total: 2,
    });
    const id = client.send('tools/call', { name: 'mcp__a__echo', arguments: { text: 'never' } });
    await recorded(path('a'), ({ messages }) =>
      messages.some(({ params }) => JSON.stringify(params ?? {}).includes('never')),
    );
    client.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await recorded(path('a'), ({ methods }) => methods.includes('notifications/cancelled'));
    expect(client.messages().some((message) => message.id === id)).toBe(false);
    expect(await client.leave()).toMatchObject({ code: 0 });
  });

  test('the tools of a server that is down answer with an error that names it, the others work', async () => {
    const client = useClient([
      '-c',
      two({ rules: [{ method: 'tools/call', reply: null, exit: { code: 1 } }] }),
    ]);
    await client.initialize();
    await client.ask('tools/list');
    const lost = await client.ask('tools/call', { name: 'mcp__a__echo', arguments: { text: 'x' } });
    expect(lost.isError).toBe(true);
    expect(textOf(lost)).toMatch(/a.*\[[A-Z_]+\]/s);
    const fine = await client.ask('tools/call', { name: 'mcp__b__echo', arguments: { text: 'fine' } });
    expect(fine).toEqual({ content: [{ type: 'text', text: 'fine' }] });
    await expect(client.ask('tools/call', { name: 'mcp__a__nothing' })).rejects.toMatchObject({
      code: -32602,
    });
    await client.leave();
  });

  test('resources keep their way back, prompts and completion find their server', async () => {
    const resource = { uri: 'file:///a b.txt', name: 'a' };
    const config = two({
      capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
      rules: [
        { method: 'resources/list', reply: { result: { resources: [resource] } } },
        {
          method: 'resources/templates/list',
          reply: { result: { resourceTemplates: [{ uriTemplate: 'file:///{name}', name: 't' }] } },
        },
        {
          method: 'resources/read',
          where: { uri: 'file:///a b.txt' },
          reply: { result: { contents: [{ uri: 'file:///a b.txt', text: 'A' }] } },
        },
        {
          method: 'prompts/list',
          reply: { result: { prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }] } },
        },
        { method: 'prompts/get', where: { name: 'greet' }, reply: { result: { messages: [] } } },
        { method: 'completion/complete', reply: { result: { completion: { values: ['me'] } } } },
      ],
    });
    const client = useClient(['-c', config]);
    await client.initialize();
    const uri = 'bulkhead:a:file:///a b.txt';
    expect((await client.ask('resources/list')).resources).toEqual([{ ...resource, uri }]);
    expect((await client.ask('resources/templates/list')).resourceTemplates).toEqual([
      { name: 't', uriTemplate: 'bulkhead:a:file:///{name}' },
    ]);
    expect(await client.ask('resources/read', { uri })).toEqual({ contents: [{ uri, text: 'A' }] });
    // As a result of a tool may name it.
    expect(await client.ask('resources/read', { uri: 'file:///a b.txt' })).toEqual({
      contents: [{ uri: 'file:///a b.txt', text: 'A' }],
    });
    expect(names((await client.ask('prompts/list')).prompts)).toEqual(['mcp__a__greet']);
    expect(await client.ask('prompts/get', { name: 'mcp__a__greet', arguments: {} })).toEqual({
      messages: [],
    });
    const completion = {
      ref: { type: 'ref/prompt', name: 'mcp__a__greet' },
      argument: { name: 'who', value: 'm' },
    };
    expect(await client.ask('completion/complete', completion)).toEqual({ completion: { values: ['me'] } });
    expect(readRecord(path('a')).messages.at(-1)?.params).toMatchObject({
      ref: { type: 'ref/prompt', name: 'greet' },
    });
    await client.leave();
  });

  test('a changed list of tools is told, log messages come at the level that was asked for', async () => {
    const say = (level: string) => ({
      json: { jsonrpc: '2.0', method: 'notifications/message', params: { level, data: level } },
    });
    const config = two({
      capabilities: { tools: { listChanged: true }, logging: {} },
      rules: [
        {
          method: 'tools/list',
          nth: 2,
          reply: { result: { tools: [{ name: 'later', inputSchema: { type: 'object' } }] } },
        },
        {
          method: 'tools/call',
          before: [
            say('debug'),
            say('error'),
            { json: { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } },
          ],
        },
      ],
    });
    const client = useClient(['-c', config]);
    await client.initialize();
    await client.ask('tools/list');
    await client.ask('logging/setLevel', { level: 'warning' });
    await recorded(path('a'), ({ methods }) => methods.includes('logging/setLevel'));
    await client.ask('tools/call', { name: 'mcp__a__echo', arguments: { text: 'x' } });
    expect((await client.notification('notifications/message')).params).toEqual({
      level: 'error',
      logger: 'a',
      data: 'error',
    });
    await client.notification('notifications/tools/list_changed');
    expect(names((await client.ask('tools/list')).tools)).toContain('mcp__a__later');
    await client.leave();
  });

  test('a question of a server reaches the client that can answer it, and is not offered else', async () => {
    const question = {
      json: {
        jsonrpc: '2.0',
        id: 77,
        method: 'elicitation/create',
        params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
      },
    };
    const config = two({ rules: [{ method: 'tools/call', before: [question] }] });
    const client = useClient(['-c', config]);
    // As clients do that know the later era too.
    await expect(client.ask('server/discover')).rejects.toMatchObject({ code: -32601 });
    await client.initialize({ elicitation: {} });
    const id = client.send('tools/call', { name: 'mcp__a__echo', arguments: { text: 'x' } });
    const asked = await client.notification('elicitation/create');
    expect(asked.params).toMatchObject({ message: 'Sure?' });
    client.write({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: { yes: true } } });
    await client.answer(id);
    await recorded(path('a'), ({ messages }) =>
      messages.some((message) => message.id === 77 && JSON.stringify(message.result).includes('yes')),
    );
    await client.leave();
    const [hello] = readRecord(path('a')).messages.filter(({ method }) => method === 'initialize');
    expect(hello?.params).toMatchObject({ capabilities: { elicitation: {} } });
    expect(hello?.params?.capabilities).not.toHaveProperty('sampling');
  });

  test('requests from a pipe are all answered before it ends, lines that are no message are refused', async () => {
    const lines = [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      {
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: 'mcp__a__echo', arguments: { text: 'piped' } },
      },
    ].map((line) => `${JSON.stringify(line)}\n`);
    const ended = await run(['serve', '-c', two()], { stdin: `${lines.join('')}no json\n` });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const answers = parseLines<{ id: number | null; error?: { code: number } }>(ended.stdout);
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, null]);
    expect(answers.find(({ id }) => id === null)?.error?.code).toBe(-32700);
    expect(ended.stdout).toContain('piped');
    watch(await pidFrom(path('a.pid')));
  });

  test('a client that never says a word starts no server', async () => {
    expect(await run(['serve', '-c', two()], { stdin: '' })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(readRecord(path('a')).events).toEqual([]);
  });
});

describe('over HTTP', () => {
  const accept = 'application/json, text/event-stream';

  async function serveHttp(args: readonly string[]) {
    const running = start(['serve', '--http', '--json', ...args]);
    const { stdout } = running.child;
    if (stdout === null) throw new Error('no stdout');
    const line = await new Promise<string>((resolve) =>
      createInterface({ input: stdout }).once('line', resolve),
    );
    const facts = JSON.parse(line) as { url: string; token?: string; tokenFile?: string };
    const post = (body: object | string, headers: Record<string, string> = {}) =>
      fetch(facts.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept,
          authorization: `Bearer ${facts.token}`,
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    return { running, facts, post };
  }

  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  };

  test('only with the token, only from this machine; results as they came', async () => {
    const { running, facts, post } = await serveHttp(['-c', writeConfig(path('c.json'), { r: rawServer })]);
    expect(new URL(facts.url).hostname).toBe('127.0.0.1');
    expect((await post(hello, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await post(hello, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(hello, { 'mcp-session-id': 'nobody' })).status).toBe(404);
    const first = await post(hello);
    expect(first.status).toBe(200);
    await first.text();
    const session = { 'mcp-session-id': first.headers.get('mcp-session-id') ?? '' };
    const call =
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcp__r__raw","arguments":{"id":1915883588174806059}}}';
    const answer = await (await post(call, session)).text();
    expect(answer).toContain('1915883588174806059');
    expect(answer).toContain('"structuredContent":{"id": 1915883588174806058}');
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 143, stderr: '' });
  });

  test('a token file is made for this user alone, and taken as it is the next time', async () => {
    const file = path('token');
    const config = writeConfig(path('c.json'), { r: rawServer });
    const { running, facts } = await serveHttp(['-c', config, '--token-file', file]);
    expect(facts).toEqual({ url: facts.url, tokenFile: file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, 'utf8').trim();
    running.child.kill('SIGTERM');
    await running.ended;
    const again = await serveHttp(['-c', config, '--token-file', file]);
    const answer = await again.post(hello, { authorization: `Bearer ${token}` });
    expect(answer.status).toBe(200);
    await answer.text();
    again.running.child.kill('SIGTERM');
    await again.running.ended;
    writeFileSync(file, 'short');
    expect(await run(['serve', '--http', '-c', config, '--token-file', file])).toMatchObject({ code: 1 });
  });

  test('a client that says goodbye has no session left, and the end leaves no server behind', async () => {
    const { running, post } = await serveHttp(['-c', two()]);
    const first = await post(hello);
    await first.text();
    const session = { 'mcp-session-id': first.headers.get('mcp-session-id') ?? '' };
    const pids = await Promise.all(['a', 'b'].map((name) => pidFrom(path(`${name}.pid`))));
    const gone = await fetch(first.url, {
      method: 'DELETE',
      headers: { ...session, authorization: await authorization(running.stdout()) },
    });
    expect(gone.status).toBe(200);
    expect((await post({ jsonrpc: '2.0', id: 3, method: 'ping' }, session)).status).toBe(404);
    running.child.kill('SIGTERM');
    await running.ended;
    for (const pid of pids) watch(pid);
  });
});

function authorization(stdout: string): string {
  return `Bearer ${(JSON.parse(stdout) as { token: string }).token}`;
}
