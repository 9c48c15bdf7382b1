/** The tools of an agent in each provider's words: what is rewritten, what is told in words, what is left out and why. */
import { describe, expect, test } from 'vitest';
import {
  type AiSdkDefinition,
  aiSdk,
  aiSdkTools,
} from '../../packages/runtime/src/agent/providers/ai-sdk.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { gemini } from '../../packages/runtime/src/agent/providers/gemini.js';
import { openAiChat } from '../../packages/runtime/src/agent/providers/openai-chat.js';
import { openAiResponses } from '../../packages/runtime/src/agent/providers/openai-responses.js';
import type { ModelResult } from '../../packages/runtime/src/agent/providers/profile.js';
import { checkOpenAiTools } from './provider-limits.js';
import { anthropicSchema, object } from './provider-verdict.js';
import { toolOf, withSchema } from './tools.js';

describe('definitions', () => {
  const read = toolOf({
    name: 'read_file',
    description: ' Reads. ',
    inputSchema: object({ path: { type: 'string' } }),
  });

  test('each provider gets its own shape', () => {
    const schema = object({ path: { type: 'string' } });
    expect(anthropic.tools([read]).definitions).toEqual([
      { name: 'read_file', description: 'Reads.', input_schema: schema },
    ]);
    expect(openAiChat.tools([read]).definitions).toEqual([
      { type: 'function', function: { name: 'read_file', description: 'Reads.', parameters: schema } },
    ]);
    expect(openAiResponses.tools([read]).definitions).toEqual([
      { type: 'function', name: 'read_file', description: 'Reads.', parameters: schema, strict: false },
    ]);
    expect(gemini.tools([read]).definitions).toEqual([
      { name: 'read_file', description: 'Reads.', parametersJsonSchema: schema },
    ]);
    expect(aiSdk.tools([read]).definitions).toEqual([
      { name: 'read_file', description: 'Reads.', inputSchema: schema },
    ]);
  });

  test('a tool without a schema takes an empty object, and no parameters at all for Gemini', () => {
    expect(anthropicSchema({ type: 'object' })).toEqual({ type: 'object', properties: {} });
    expect(anthropicSchema({})).toEqual({ type: 'object', properties: {} });
    expect(gemini.tools([withSchema({ type: 'object' })]).definitions).toEqual([{ name: 'tool' }]);
  });

  test('the order of the tools stays, and the name leads back to the tool', () => {
    const tools = ['b', 'a', 'c'].map((name) => toolOf({ name }));
    const exported = anthropic.tools(tools);
    expect(exported.definitions.map(({ name }) => name)).toEqual(['b', 'a', 'c']);
    expect(exported.byName.get('a')).toBe(tools[1]);
  });

  test('equal tools give equal bytes, in whatever order a server writes its keywords', () => {
    const one = {
      type: 'object',
      properties: { a: { type: 'string', description: 'x', minLength: 1 } },
      required: ['a'],
    };
    const two = {
      required: ['a'],
      properties: { a: { minLength: 1, description: 'x', type: 'string' } },
      type: 'object',
    };
    expect(JSON.stringify(anthropicSchema(one))).toBe(JSON.stringify(anthropicSchema(two)));
  });

  test("the server's schema is never changed, and no part of it is shared", () => {
    const schema = object({ a: { $ref: '#/$defs/A' }, b: { enum: ['x'] } }, { $defs: { A: { const: 1 } } });
    const before = structuredClone(schema);
    const sent = anthropicSchema(schema) as { properties: { b: { enum: string[] } } };
    sent.properties.b.enum.push('y');
    expect(schema).toEqual(before);
  });

  test('the second tool of a name is left out with a reason', () => {
    const first = toolOf({ name: 'run', inputSchema: object({ a: { type: 'string' } }) });
    const { definitions, omitted, byName } = anthropic.tools([first, toolOf({ name: 'run' })]);
    expect(definitions).toHaveLength(1);
    expect(byName.get('run')).toBe(first);
    expect(omitted).toEqual([{ tool: 'run', reason: 'another tool of the same name stands before it' }]);
  });

  test('OpenAI gets 128 tools, and the others are named with the reason', () => {
    const tools = Array.from({ length: 130 }, (_, index) => toolOf({ name: `tool_${index}` }));
    const { definitions, omitted } = openAiChat.tools(tools);
    expect(definitions).toHaveLength(128);
    expect(omitted.map(({ tool }) => tool)).toEqual(['tool_128', 'tool_129']);
    expect(omitted[0]?.reason).toBe('OpenAI takes at most 128 tools in a request');
    expect(anthropic.tools(tools).omitted).toEqual([]);
  });

  test('a description is cut at 1 024 characters for OpenAI only, between words, and that is noted', () => {
    const tool = toolOf({ name: 'long', description: 'word '.repeat(400) });
    const { definitions, notes } = openAiChat.tools([tool]);
    expect(definitions[0]?.function.description).toMatch(/^(word )+word…$/);
    expect(definitions[0]?.function.description?.length).toBeGreaterThan(1_000);
    expect(checkOpenAiTools(definitions)).toEqual([]);
    expect(notes).toEqual([{ tool: 'long', note: 'its description was cut to 1024 characters' }]);
    expect(anthropic.tools([tool]).definitions[0]?.description).toHaveLength(1_999);
  });

  test('half a surrogate pair in a description, a name or a value is mended', () => {
    const schema = object({ 'a\ud83d': { type: 'string', description: '\ude00', enum: ['\ud83d'] } });
    const tool = toolOf({ name: 'tool', description: 'half \ud83d', inputSchema: schema });
    for (const profile of [anthropic, openAiChat, gemini]) {
      expect(JSON.stringify(profile.tools([tool]).definitions)).not.toMatch(/\\ud/i);
    }
  });

  test('a local tool whose name Gemini refuses is left out for Gemini', () => {
    const { omitted } = gemini.tools([toolOf({ name: '2fa' })]);
    expect(omitted[0]?.reason).toContain('its name does not match');
    expect(anthropic.tools([toolOf({ name: '2fa' })]).omitted).toEqual([]);
  });
});

describe('the AI SDK', () => {
  test('tools run through our own execute and give what the model sees', async () => {
    const calls: unknown[] = [];
    const tool = {
      ...toolOf({ name: 'add', inputSchema: object({ a: { type: 'number' } }) }),
      execute: async (args: unknown, { callId }: { callId: string }) => {
        calls.push([args, callId]);
        return { isError: false, content: [{ type: 'text', text: 'three' }] };
      },
    };
    const finish = async (_: unknown, call: { callId: string; name: string }): Promise<ModelResult> => ({
      ...call,
      isError: false,
      parts: [{ type: 'text', text: 'three' }],
    });
    const set = aiSdkTools(aiSdk.tools([tool]), {
      jsonSchema: (schema: AiSdkDefinition['inputSchema']) => ({ jsonSchema: schema }),
      finish,
    });
    const given = await set.add?.execute({ a: 1 }, { toolCallId: 'call_1' });
    expect(given).toEqual({ type: 'text', value: 'three' });
    expect(calls).toEqual([[{ a: 1 }, 'call_1']]);
    expect(set.add?.inputSchema).toEqual({ jsonSchema: object({ a: { type: 'number' } }) });
    expect(set.add?.toModelOutput(given)).toEqual(given);
    expect(set.add?.toModelOutput({ toolCallId: 'call_1', output: given })).toEqual(given);
  });
});
