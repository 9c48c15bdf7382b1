/** A session beyond tools: resources, prompts, completion, logging, and what servers ask of their client. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { AgentHandlers } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const manifest = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/package.json',
);
const everything = { command: process.execPath, args: [join(dirname(manifest), 'dist/index.js')] };

const handlers: AgentHandlers = {
  sampling: () => ({ role: 'assistant', model: 'test', content: { type: 'text', text: 'a sampled answer' } }),
  elicitation: () => ({ action: 'accept', content: { name: 'Ada' } }),
  roots: () => [{ uri: 'file:///project', name: 'project' }],
};

describe('the official example server', () => {
  it('gives its resources, templates and prompts, and completes their arguments', async () => {
    const runtime = await start({ ev: everything });
    await runtime.ready();
    const server = runtime.server('ev');
    const [first] = await server.listResources();
    expect(first).toHaveProperty('uri');
    expect(await server.readResource(String(first?.uri))).toMatchObject({ contents: [{ uri: first?.uri }] });
    expect((await server.listResourceTemplates()).length).toBeGreaterThan(0);
    expect((await server.listPrompts()).map(({ name }) => name)).toContain('args-prompt');
    const prompt = await server.getPrompt('args-prompt', { city: 'Bonn' });
    expect(JSON.stringify(prompt)).toContain('Bonn');
    const completed = await server.complete({
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    });
    expect(completed).toHaveProperty('completion.values');
    expect(server.instructions).toBeTypeOf('string');
  });

  it('asks for a sample, a form and the roots, and gets the answers of the agent', async () => {
    const runtime = await start({ ev: everything }, { handlers });
    await runtime.ready();
    const server = runtime.server('ev');
    await eventually(
      () => server.tools.some(({ name }) => name === 'get-roots-list'),
      () => 'the tools for roots',
    );
    const sample = await server.callTool('trigger-sampling-request', { prompt: 'hi', maxTokens: 5 });
    expect(sample.text()).toContain('a sampled answer');
    const form = await server.callTool('trigger-elicitation-request');
    expect(form.text()).toContain('Ada');
    expect(form.text()).toContain('42'); // a default of the requested schema
    expect((await server.callTool('get-roots-list')).text()).toContain('file:///project');
  });

  it('sees no capability that nobody answers', async () => {
    const runtime = await start({ ev: everything });
    await runtime.ready();
    expect(runtime.tools().map(({ name }) => name)).not.toContain('trigger-sampling-request');
  });

  it('logs at the wanted level, to events and not to the terminal', async () => {
    const runtime = await start({ ev: everything });
    await runtime.ready();
    const logged = new Promise<{ server: string; data: unknown }>((resolve) => runtime.on('log', resolve));
    const server = runtime.server('ev');
    await server.setLogLevel('debug');
    const [first] = await server.listResources();
    await server.subscribe(String(first?.uri));
    expect(await logged).toMatchObject({ server: 'ev', data: expect.stringContaining('Subscribe') });
  });
});

describe('while a person is asked', () => {
  it('the limits of the call stand still', async () => {
    const ask = {
      json: {
        jsonrpc: '2.0' as const,
        id: 'form',
        method: 'elicitation/create',
        params: { message: 'Name?' },
      },
    };
    // The call is answered only after the person was asked for longer than the call may take.
    const rules = [{ method: 'tools/call', tool: 'echo', before: [ask], delayMs: 0, reply: null }];
    const record = directory('record.jsonl');
    let asked = 0;
    const elicitation = async () => {
      asked++;
      await new Promise((resolve) => setTimeout(resolve, 700));
      return { action: 'decline' as const };
    };
    const runtime = await start({ s: scripted({ rules, record }) }, { handlers: { elicitation } });
    await runtime.ready();
    const startedAt = performance.now();
    const error = await failureOf(runtime.callTool('mcp__s__echo', { text: 'x' }, { timeoutMs: 300 }));
    expect(error.code).toBe('TIMEOUT');
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(asked).toBe(1);
    const { messages } = await recorded(record, (seen) => seen.messages.some(({ id }) => id === 'form'));
    expect(messages.find(({ id }) => id === 'form')?.result).toEqual({ action: 'decline' });
  });

  it('to visit a URL first, the call is made again once he has', async () => {
    const elicitations = [{ elicitationId: 'e1', url: 'https://example.test/connect', message: 'Connect' }];
    const reply = { error: { code: -32042, message: 'URL elicitation required', data: { elicitations } } };
    const rules = [{ method: 'tools/call', times: 1, reply }];
    const seen: unknown[] = [];
    const elicitation = (params: Record<string, unknown>) => {
      seen.push(params);
      return { action: 'accept' as const };
    };
    const runtime = await start({ s: scripted({ rules: rules as never }) }, { handlers: { elicitation } });
    await runtime.ready();
    const result = await runtime.callTool('mcp__s__echo', { text: 'after the visit' });
    expect([result.text(), result.attempts]).toEqual(['after the visit', 2]);
    expect(seen).toEqual([expect.objectContaining({ mode: 'url', url: 'https://example.test/connect' })]);
  });
});

describe('a server without', () => {
  it('resources or prompts has empty lists and refuses the rest by name, without a message on the wire (B050)', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    const server = runtime.server('s');
    expect(await server.listResources()).toEqual([]);
    expect(await server.listPrompts()).toEqual([]);
    expect(await failureOf(server.readResource('x://y'))).toMatchObject({ code: 'UNSUPPORTED', server: 's' });
    expect(readRecord(record).methods.filter((method) => /resources|prompts/.test(method))).toEqual([]);
  });

  it('what it declares has empty lists all the same (B051)', async () => {
    const runtime = await start({ s: scripted({ capabilities: { tools: {}, resources: {}, prompts: {} } }) });
    await runtime.ready();
    expect(await runtime.server('s').listResources()).toEqual([]);
    expect(await runtime.server('s').listPrompts()).toEqual([]);
  });
});

describe('subscriptions and log level', () => {
  it('are told again to the next session after a crash', async () => {
    const [record, pidFile] = [directory('record.jsonl'), directory('s.pid')];
    const rules = ['resources/subscribe', 'logging/setLevel'].map((method) => ({
      method,
      reply: { result: {} },
    }));
    const capabilities = { tools: {}, logging: {}, resources: { subscribe: true } };
    const runtime = await start({ s: scripted({ record, pidFile, capabilities, rules }) });
    await runtime.ready();
    await runtime.server('s').subscribe('notes://1');
    await runtime.server('s').setLogLevel('warning');
    process.kill(await pidFrom(pidFile), 'SIGKILL');
    await reaches(runtime, 's', 'backoff');
    await recorded(
      record,
      ({ methods }) => methods.filter((method) => method === 'resources/subscribe').length === 2,
    );
    await recorded(
      record,
      ({ methods }) => methods.filter((method) => method === 'logging/setLevel').length === 2,
    );
  });
});
