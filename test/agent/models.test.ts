/** The models' adapters with the providers' own SDKs against a server that speaks their wire formats. */
import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, jsonSchema, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { runAgent } from '../../packages/runtime/src/agent/loop.js';
import type { AgentEvent, RunResult } from '../../packages/runtime/src/agent/loop-events.js';
import type { RunOptions } from '../../packages/runtime/src/agent/loop-options.js';
import { toAiSdkTools } from '../../packages/runtime/src/agent/models/ai-sdk.js';
import { anthropicModel } from '../../packages/runtime/src/agent/models/anthropic.js';
import { type Model, optionalPackage } from '../../packages/runtime/src/agent/models/model.js';
import { openAiChatModel } from '../../packages/runtime/src/agent/models/openai-chat.js';
import { openAiResponsesModel } from '../../packages/runtime/src/agent/models/openai-responses.js';
import type { Gate, Tool } from '../../packages/runtime/src/agent/tool.js';
import { useCensus } from '../support/census.js';
import { type ModelServer, useModelServer, type WireReply } from '../support/model-server.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const serve = useModelServer();

/** A model of each API, with the SDK's own client or one that the adapter makes. */
const models: [string, (url: string, params?: Record<string, unknown>) => Model][] = [
  [
    'Anthropic',
    (baseURL, params = {}) =>
      anthropicModel({ model: 'test', client: new Anthropic({ apiKey: 'key', baseURL }), params }),
  ],
  [
    'OpenAI chat',
    (url, params = {}) =>
      openAiChatModel({
        model: 'test',
        client: new OpenAI({ apiKey: 'key', baseURL: `${url}/v1` }),
        params,
      }),
  ],
  [
    'OpenAI responses',
    (url, params = {}) =>
      openAiResponsesModel({ model: 'test', apiKey: 'key', baseURL: `${url}/v1`, params }),
  ],
];

const tool = (name: string, identity: Tool['identity'], answer: (args: object) => string): Tool => ({
  name,
  description: `Tool ${name}`,
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
  identity,
  capabilities: new Set(['read']),
  execute: async (args) => ({ isError: false, content: [{ type: 'text', text: answer(args) }] }),
});
const local = tool('clock', { kind: 'local', tool: 'clock' }, () => 'noon');
const foreign = tool('mcp__weather__get', { kind: 'mcp', server: 'weather', tool: 'get' }, (args) =>
  JSON.stringify(args),
);

/** Thinks, says something in two pieces, and makes two calls. */
const asks: WireReply = {
  thought: 'Where?',
  text: ['Let me ', 'look.'],
  calls: [
    { id: 'call_a', name: 'mcp__weather__get', args: '{"city": "Köln"}' },
    { id: 'call_b', name: 'clock', args: '' },
  ],
};
const ends: WireReply = { text: ['It rains.'] };

async function run(
  make: (url: string, params?: Record<string, unknown>) => Model,
  script: readonly WireReply[],
  more: Partial<RunOptions> = {},
  params?: Record<string, unknown>,
): Promise<{ result: RunResult; events: AgentEvent[]; server: ModelServer }> {
  const server = await serve(script);
  const events: AgentEvent[] = [];
  const { onEvent } = more;
  const result = await runAgent({
    model: make(server.url, params),
    toolset: [local, foreign],
    system: 'Be brief.',
    context: () => 'It is Monday.',
    prompt: 'How is the weather?',
    outputDirectory: directory('output'),
    ...more,
    onEvent(event) {
      events.push(event);
      onEvent?.(event);
    },
  });
  return { result, events, server };
}

describe.each(models)('%s', (_, make) => {
  it('streams text, makes two calls at once, and gets their answers', async () => {
    const { result, events, server } = await run(make, [asks, ends]);
    expect(result).toMatchObject({ stopReason: 'end', text: 'It rains.', steps: 2 });
    const texts = events.flatMap((event) => (event.type === 'text' ? [event.text] : []));
    expect(texts).toEqual(['Let me ', 'look.', 'It rains.']);
    expect(events.flatMap((event) => (event.type === 'tool-call' ? [event.args] : []))).toEqual([
      { city: 'Köln' },
      {},
    ]);
    expect(result.usage).toEqual({ inputTokens: 200, outputTokens: 14, cachedTokens: 180 });
    expect(server.requests).toHaveLength(2);
  });

  it('ends with the error of a request that is refused, which is asked once', async () => {
    const { result, server } = await run(make, [{ status: 400, message: 'tools.0: no' }]);
    expect(result).toMatchObject({ stopReason: 'error', error: { message: expect.stringContaining('no') } });
    expect(result.messages).toEqual([{ role: 'user', content: 'How is the weather?' }]);
    expect(server.requests).toHaveLength(1);
  });

  it('goes on after an overload, which the SDK waits for, and ends when it lasts', async () => {
    const overload = { status: 529, message: 'overloaded' };
    const passed = await run(make, [overload, ends]);
    expect(passed.result).toMatchObject({ stopReason: 'end', text: 'It rains.' });
    expect(passed.server.requests).toHaveLength(2);
    const lasting = await run(make, [overload, overload, overload]);
    expect(lasting.result).toMatchObject({ stopReason: 'error', error: { status: 529 } });
    expect(lasting.server.requests).toHaveLength(3);
  });

  it.each([
    [
      'an error inside the stream',
      { error: 'overloaded in the middle' } as const,
      'overloaded in the middle',
    ],
    ['a connection that breaks', 'cut' as const, ''],
    ['an end before the last event', 'quiet' as const, 'ended in the middle'],
  ])('takes %s for no answer', async (_case, after, message) => {
    const { result } = await run(make, [{ text: ['Let me '], after }]);
    expect(result).toMatchObject({ stopReason: 'error', text: '' });
    expect(result.error?.message).toContain(message);
    expect(result.messages).toHaveLength(1);
  });

  it('closes the connection of an answer that is aborted, and keeps what was said', async () => {
    const abort = new AbortController();
    const { result, server } = await run(make, [{ text: ['Let me ', 'see'], after: 'hold' }], {
      signal: abort.signal,
      onEvent: (event) => event.type === 'text' && event.text === 'see' && abort.abort(),
    });
    expect(result.stopReason).toBe('aborted');
    expect(result.messages.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Let me see' }],
    });
    await server.requests[0]?.closed;
  });

  it('shows a picture of the user, and half a character as a whole one', async () => {
    const { server } = await run(make, [ends], {
      prompt: [
        { type: 'text', text: 'What is this?\ud83d' },
        { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    });
    const sent = JSON.stringify(server.requests[0]?.body);
    expect(sent).toContain('iVBORw0KGgo=');
    expect(sent).toContain('What is this?\ufffd');
    expect(sent).not.toContain('error');
  });

  it('says once which tools the model cannot be offered', async () => {
    const unfit = { ...local, name: 'bad name' };
    const { events, server } = await run(make, [asks, ends], { toolset: [local, foreign, unfit] });
    expect(events.filter(({ type }) => type === 'omitted')).toEqual([
      { type: 'omitted', tools: [{ tool: 'bad name', reason: expect.stringContaining('name') }] },
    ]);
    expect(server.requests[0]?.body.tools).toHaveLength(2);
  });

  it('sends arguments that were no JSON back as none, with the reason as their answer', async () => {
    const broken = { calls: [{ id: 'call_a', name: 'clock', args: '{"city": ' }] };
    const { result, server } = await run(make, [broken, ends]);
    expect(result.stopReason).toBe('end');
    const sent = JSON.stringify(server.requests[1]?.body);
    expect(sent).toContain('are not a JSON object');
    expect(sent).toMatch(/"input":\{\}|"arguments":"\{\}"/);
  });
});

describe('the request to Anthropic', () => {
  const make = models[0]?.[1] as (url: string) => Model;

  it('has its breakpoints at the end of each layer, and what changes behind them', async () => {
    const { server } = await run(make, [asks, ends]);
    const cached = { cache_control: { type: 'ephemeral' } };
    expect(server.requests[0]?.body).toMatchObject({ model: 'test', max_tokens: 16_000, stream: true });
    expect(server.requests[0]?.body.tools).toMatchObject([
      { name: 'clock', ...cached },
      { name: 'mcp__weather__get', ...cached },
    ]);
    expect(server.requests[0]?.body.system).toEqual([
      { type: 'text', text: 'Be brief.', ...cached },
      { type: 'text', text: 'It is Monday.' },
    ]);
    const { messages } = server.requests[1]?.body ?? {};
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'How is the weather?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Where?', signature: 'signed' },
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: 'call_a', name: 'mcp__weather__get', input: { city: 'Köln' } },
          { type: 'tool_use', id: 'call_b', name: 'clock', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_a',
            content: [{ type: 'text', text: '{"city":"Köln"}' }],
          },
          {
            type: 'tool_result',
            tool_use_id: 'call_b',
            content: [{ type: 'text', text: 'noon' }],
            ...cached,
          },
        ],
      },
    ]);
    const count = (body: unknown) => JSON.stringify(body).split('cache_control').length - 1;
    expect(server.requests.map(({ body }) => count(body))).toEqual([4, 4]);
  });

  it('uses the breakpoints that are left for the last two messages of the user', async () => {
    const { server } = await run(make, [asks, ends], {
      toolset: [foreign, { ...local, identity: foreign.identity }],
    });
    const { messages } = server.requests[1]?.body ?? {};
    expect([messages[0].content[0].cache_control, messages[2].content[1].cache_control]).toEqual([
      { type: 'ephemeral' },
      { type: 'ephemeral' },
    ]);
  });

  it('tells an error as one, in the answer of its call', async () => {
    const { server } = await run(make, [{ calls: [{ id: 'call_a', name: 'clok', args: '{}' }] }, ends]);
    expect(server.requests[1]?.body.messages[2].content).toMatchObject([
      {
        tool_use_id: 'call_a',
        is_error: true,
        content: [{ text: expect.stringContaining('did you mean "clock"') }],
      },
    ]);
  });
});

describe('the request to OpenAI chat', () => {
  const make = models[1]?.[1] as (url: string, params?: Record<string, unknown>) => Model;

  it('has one system message, the calls as they were written, and a message for each answer', async () => {
    const { server } = await run(make, [asks, ends], { maxTokens: 500 }, { temperature: 0 });
    const { messages, tools, ...rest } = server.requests[1]?.body ?? {};
    expect(rest).toEqual({
      model: 'test',
      temperature: 0,
      max_completion_tokens: 500,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(tools.map(({ function: { name } }: { function: { name: string } }) => name)).toEqual([
      'clock',
      'mcp__weather__get',
    ]);
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.\n\nIt is Monday.' },
      { role: 'user', content: 'How is the weather?' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [
          {
            id: 'call_a',
            type: 'function',
            function: { name: 'mcp__weather__get', arguments: '{"city": "Köln"}' },
          },
          { id: 'call_b', type: 'function', function: { name: 'clock', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_a', content: '{"city":"Köln"}' },
      { role: 'tool', tool_call_id: 'call_b', content: 'noon' },
    ]);
  });

  it('names the limit as a gateway knows it', async () => {
    const { server } = await run(make, [ends], { maxTokens: 500 }, { max_tokens: 1 });
    expect(server.requests[0]?.body).toMatchObject({ max_tokens: 500 });
    expect(server.requests[0]?.body).not.toHaveProperty('max_completion_tokens');
  });
});

describe('the request to OpenAI responses', () => {
  const make = models[2]?.[1] as (url: string, params?: Record<string, unknown>) => Model;

  it('stores nothing and brings the reasoning back in its sealed form', async () => {
    const { server, events } = await run(make, [asks, ends], {}, { reasoning: { effort: 'low' } });
    const { input, tools, ...rest } = server.requests[1]?.body ?? {};
    expect(rest).toEqual({
      model: 'test',
      instructions: 'Be brief.\n\nIt is Monday.',
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low' },
      store: false,
      stream: true,
    });
    expect(tools).toMatchObject([
      { name: 'clock', strict: false },
      { name: 'mcp__weather__get', strict: false },
    ]);
    expect(input).toEqual([
      { role: 'user', content: 'How is the weather?' },
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Where?' }],
        encrypted_content: 'sealed',
      },
      { role: 'assistant', content: 'Let me look.' },
      { type: 'function_call', call_id: 'call_a', name: 'mcp__weather__get', arguments: '{"city": "Köln"}' },
      { type: 'function_call', call_id: 'call_b', name: 'clock', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_a', output: '{"city":"Köln"}' },
      { type: 'function_call_output', call_id: 'call_b', output: 'noon' },
    ]);
    expect(events).toContainEqual({ type: 'reasoning', text: 'Where?' });
  });
});

describe('an answer that ends early', () => {
  it.each([
    ['Anthropic', 'max_tokens', 'max_tokens'],
    ['Anthropic', 'refusal', 'refusal'],
    ['Anthropic', 'model_context_window_exceeded', 'context_full'],
    ['OpenAI chat', 'length', 'max_tokens'],
    ['OpenAI chat', 'content_filter', 'refusal'],
    ['OpenAI responses', 'max_output_tokens', 'max_tokens'],
    ['OpenAI responses', 'content_filter', 'refusal'],
  ])('of %s because of %s is %s', async (name, stop, reason) => {
    const make = new Map(models).get(name) as (url: string) => Model;
    const { result } = await run(make, [{ text: ['Half'], stop }]);
    expect(result).toMatchObject({ stopReason: reason, text: 'Half' });
  });
});

describe('a conversation that changes its model', () => {
  it('leaves thoughts out that only another provider can read', async () => {
    const first = await run(models[0]?.[1] as (url: string) => Model, [asks, ends]);
    for (const [, make] of models.slice(1)) {
      const { server, result } = await run(make, [ends], {
        messages: first.result.messages,
        prompt: 'And now?',
      });
      expect(result.stopReason).toBe('end');
      expect(JSON.stringify(server.requests[0]?.body)).not.toContain('signed');
    }
  });
});

describe('gateways', () => {
  /** A client that gives these chunks. */
  const chunks = (...deltas: object[]) => {
    async function* create() {
      for (const delta of deltas) yield { choices: [{ index: 0, delta, finish_reason: null }] };
      yield { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    }
    return { chat: { completions: { create: async () => create() } } };
  };
  const piece = (name: string, args: string, more: object = {}) => ({
    tool_calls: [{ ...more, function: { name, arguments: args } }],
  });

  it.each([
    [
      'number every call 0',
      [piece('clock', '{}', { index: 0, id: 'a' }), piece('clock', '{"city":"x"}', { index: 0, id: 'b' })],
    ],
    ['number none', [piece('clock', '{}', { id: 'a' }), piece('clock', '{"city":"x"}', { id: 'b' })]],
    ['neither number nor name them', [piece('clock', '{}'), piece('clock', '{"city":"x"}')]],
  ])('that %s still make two calls', async (_, deltas) => {
    const model = openAiChatModel({ model: 'test', client: chunks(...deltas) });
    const { messages } = await runAgent({ model, toolset: [local], prompt: 'x', maxSteps: 1 });
    const [, said, answered] = messages;
    expect(said).toMatchObject({
      content: [
        { name: 'clock', argsText: '{}' },
        { name: 'clock', argsText: '{"city":"x"}' },
      ],
    });
    expect(answered).toMatchObject({ results: [{ isError: false }, { isError: false }] });
  });
});

describe('a package that is not installed', () => {
  it('is named, with the command that installs it', async () => {
    const name = 'not-installed-anywhere';
    await expect(optionalPackage(name, () => import(/* @vite-ignore */ name))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining(`npm install ${name}`),
    });
  });

  it('is asked for only when it is used', () => {
    for (const file of ['anthropic', 'openai-chat', 'openai-responses', 'openai-client', 'ai-sdk']) {
      const path = `../../packages/runtime/dist/agent/models/${file}.js`;
      const source = readFileSync(new URL(path, import.meta.url), 'utf8');
      expect(source).not.toMatch(/^import .* from ['"](openai|@anthropic-ai\/sdk|ai)['"]/m);
    }
  });
});

describe('tools for the AI SDK', () => {
  it('run in its loop, through our hooks and gate', async () => {
    const asked: string[] = [];
    const gate: Gate = {
      check({ callId, identity }) {
        asked.push(`${callId} ${identity.tool}`);
        return identity.kind === 'local' ? { allow: false, reason: 'no clocks' } : { allow: true };
      },
    };
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const call = (toolCallId: string, toolName: string, input: string) =>
      ({ type: 'tool-call', toolCallId, toolName, input }) as const;
    const model = new MockLanguageModelV3({
      doGenerate: [
        {
          content: [call('a', 'mcp__weather__get', '{"city":"Bonn"}'), call('b', 'clock', '{}')],
          finishReason: { unified: 'tool-calls', raw: undefined },
          usage,
          warnings: [],
        },
        {
          content: [{ type: 'text', text: 'Sunny.' }],
          finishReason: { unified: 'stop', raw: undefined },
          usage,
          warnings: [],
        },
      ],
    });
    const { tools, omitted } = toAiSdkTools([local, foreign], { jsonSchema, gate });
    const { text } = await generateText({ model, tools, prompt: 'Weather?', stopWhen: stepCountIs(3) });
    expect(text).toBe('Sunny.');
    expect(omitted).toEqual([]);
    expect(asked.sort()).toEqual(['a get', 'b clock']);
    const answers = model.doGenerateCalls[1]?.prompt.findLast(({ role }) => role === 'tool');
    expect(answers?.content).toMatchObject([
      { toolCallId: 'a', output: { type: 'text', value: '{"city":"Bonn"}' } },
      { toolCallId: 'b', output: { type: 'error-text', value: expect.stringContaining('no clocks') } },
    ]);
  });
});
