/** A call is a call: the same features, whichever way the bytes travel and whichever era the server speaks. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type AgentHandlers, createRuntime, type Runtime, type ServerView } from '@bulkhead/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Census, census, expectClean, type RejectionWatch, watchRejections } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { failureOf } from '../support/runtime.js';

const FIXTURE = fileURLToPath(new URL('../fixtures/matrix/server.mjs', import.meta.url));

interface Variant {
  transport: 'stdio' | 'json' | 'stream' | 'sse';
  era: 'legacy' | 'modern';
}

interface Message {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
}

const handlers: AgentHandlers = {
  elicitation: () => ({ action: 'accept', content: { name: 'Ada' } }),
  sampling: () => ({ role: 'assistant', model: 'test', content: { type: 'text', text: 'a sampled answer' } }),
  roots: () => [{ uri: 'file:///project', name: 'project' }],
};

describe.each<Variant>([
  { transport: 'stdio', era: 'legacy' },
  { transport: 'stdio', era: 'modern' },
  { transport: 'json', era: 'legacy' },
  { transport: 'stream', era: 'legacy' },
  { transport: 'sse', era: 'legacy' },
])('over $transport, $era era', ({ transport, era }) => {
  let before: Census;
  let rejections: RejectionWatch;
  let directory: string;
  let remote: ChildProcess | undefined;
  let runtime: Runtime;
  let server: ServerView;

  const received = (): Message[] =>
    readFileSync(join(directory, 'record.jsonl'), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const arrival = (method: string, found: (params: Record<string, unknown>) => boolean) =>
    eventually(
      () => received().find((message) => message.method === method && found(message.params ?? {})),
      () => `${method} at the server, among ${JSON.stringify(received().map((message) => message.method))}`,
    );
  /** The call of `hang` that carries this text, as the server got it. */
  const hanging = (text: string) =>
    arrival('tools/call', (params) => (params.arguments as { text?: string })?.text === text);

  beforeAll(async () => {
    rejections = watchRejections();
    before = census();
    directory = mkdtempSync(join(tmpdir(), 'bulkhead-transports-'));
    const script = JSON.stringify({ transport, era, record: join(directory, 'record.jsonl') });
    let entry: Record<string, unknown>;
    if (transport === 'stdio') {
      const protocol = era === 'modern' ? '2026-07-28' : 'legacy';
      entry = { command: process.execPath, args: [FIXTURE, script], protocol };
    } else {
      remote = spawn(process.execPath, [FIXTURE, script], { stdio: ['pipe', 'pipe', 'inherit'] });
      const [url] = await once(remote.stdout as Readable, 'data');
      entry = { type: transport === 'sse' ? 'sse' : 'http', url: String(url).trim() };
    }
    runtime = await createRuntime({ servers: { s: entry }, logDir: join(directory, 'logs'), handlers });
    expect(await runtime.ready()).toMatchObject({ ok: true, failed: [] });
    server = runtime.server('s');
  });

  afterAll(async () => {
    await runtime?.close();
    if (remote?.exitCode === null) {
      const exited = once(remote, 'exit');
      (remote.stdin as Writable).end();
      await exited;
    }
    rejections.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('the server tells its version and its instructions', async () => {
    expect(server.instructions).toBe('Ask first.');
    const [status] = (await runtime.status()).servers;
    expect(status?.protocolVersion).toBe(era === 'modern' ? '2026-07-28' : '2025-11-25');
  });

  it('every list is read to its last page', async () => {
    expect(server.tools.map(({ name }) => name)).toEqual([
      'big',
      'digits',
      'echo',
      'fail',
      'form',
      'grow',
      'hang',
      'refuse',
      'roots',
      'sample',
      'steps',
    ]);
    expect(await server.listResources()).toHaveLength(7);
    expect(await server.listResourceTemplates()).toHaveLength(1);
    expect((await server.listPrompts()).map(({ name }) => name)).toEqual([
      'prompt-0',
      'prompt-1',
      'prompt-2',
      'prompt-3',
    ]);
  });

  it('a call gives the answer of the tool', async () => {
    const text = 'héllo 🎉\u2028\n\r end';
    const result = await runtime.callTool('mcp__s__echo', { text });
    expect(result).toMatchObject({ outcome: 'ok', isError: false, attempts: 1, warnings: [] });
    expect(result.text()).toBe(text);
  });

  it('fifty calls at once each get their own answer', async () => {
    const texts = Array.from({ length: 50 }, (_, i) => `call ${i}`);
    const results = await Promise.all(texts.map((text) => server.callTool('echo', { text })));
    expect(results.map((result) => result.text())).toEqual(texts);
  });

  it("a tool's own error is a result", async () => {
    const result = await server.callTool('fail');
    expect(result).toMatchObject({ outcome: 'tool_error', isError: true });
    expect(result.text()).toBe('no such file');
  });

  it('a JSON-RPC error keeps its code, message and data', async () => {
    const error = await failureOf(server.callTool('refuse'));
    expect(error).toMatchObject({ code: 'PROTOCOL_ERROR', server: 's', tool: 'refuse' });
    expect(error.message).toContain('not today');
    expect(error.data).toMatchObject({ jsonRpcCode: -32042, jsonRpcData: { why: 1 } });
  });

  it('a call that times out tells the server, and the next one is served', async () => {
    const error = await failureOf(server.callTool('hang', { text: 'late' }, { timeoutMs: 150 }));
    expect(error).toMatchObject({ code: 'TIMEOUT', data: { limit: 'callTimeoutMs', sent: true } });
    const { id } = await hanging('late');
    await arrival('notifications/cancelled', ({ requestId }) => requestId === id);
    expect((await server.callTool('echo', { text: 'after' })).text()).toBe('after');
  });

  it('a call that is aborted tells the server, without the reason', async () => {
    const abort = new AbortController();
    const call = failureOf(server.callTool('hang', { text: 'unwanted' }, { signal: abort.signal }));
    const { id } = await hanging('unwanted');
    abort.abort('secret reason');
    expect(await call).toMatchObject({ code: 'CANCELLED', data: { sent: true } });
    await arrival('notifications/cancelled', ({ requestId }) => requestId === id);
    expect(JSON.stringify(received())).not.toContain('secret');
  });

  it('progress reaches the caller in order and moves the idle limit', async () => {
    const seen: number[] = [];
    const options = {
      timeoutMs: 400,
      onProgress: ({ progress }: { progress: number }) => void seen.push(progress),
    };
    const result = await server.callTool('steps', { count: 6, everyMs: 100 }, options);
    expect(result.text()).toBe('done');
    // Beside a JSON answer progress comes by another connection: the last of it may come later.
    expect(seen.slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
    if (transport !== 'json') expect(seen).toHaveLength(6);
  });

  it('an answer of 300 kB arrives whole', async () => {
    const result = await server.callTool('big', { bytes: 300_000 });
    expect(result.text()).toBe('é'.repeat(150_000));
  });

  it('the digits of big integers stay as they were sent', async () => {
    const { raw } = await server.callTool('digits');
    expect(raw).toContain('"structuredContent":{"id":1915883588174806058,"x":1.0}');
  });

  it('a list that changes is read again, and its new tool is called', async () => {
    const told = new Promise((resolve) => runtime.on('tools', resolve));
    await server.callTool('grow');
    expect(await told).toMatchObject({ server: 's', count: 12 });
    expect((await runtime.callTool('mcp__s__grown_11')).text()).toBe('called grown_11');
  });

  it('resources are read and prompts are filled in', async () => {
    const read = await server.readResource('test:///6');
    expect(read).toMatchObject({ contents: [{ uri: 'test:///6', text: 'text of test:///6' }] });
    const prompt = await server.getPrompt('prompt-3', { city: 'Bonn' });
    expect(JSON.stringify(prompt)).toContain('prompt-3 in Bonn');
    const argument = { name: 'city', value: 'B' };
    const ref = { type: 'ref/prompt', name: 'prompt-3' };
    expect(await server.complete({ ref, argument })).toMatchObject({ completion: { values: ['Bonn'] } });
  });

  it.each([
    ['form', 'a form', '"name":"Ada"'],
    ['sample', 'a sample', 'a sampled answer'],
    ['roots', 'the roots', 'file:///project'],
  ])('a tool (%s) that asks for %s gets the answer of the agent', async (tool, _what, answer) => {
    expect((await server.callTool(tool)).text()).toContain(answer);
  });

  it('nothing is left when it closes', async () => {
    const report = await runtime.close();
    expect(report.servers).toMatchObject([{ name: 's', finalState: 'stopped' }]);
    if (remote) {
      const exited = once(remote, 'exit');
      (remote.stdin as Writable).end();
      expect(await exited).toEqual([0, null]);
    }
    await expectClean(before, { rejections });
  });
});
