import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../packages/runtime/src/agent/local-tool.js';
import type { Tool, ToolOutput } from '../../packages/runtime/src/agent/tool.js';
import { failureOf } from '../support/runtime.js';

const context = (signal = new AbortController().signal) => ({ callId: 'call-1', signal });
const textOf = ({ content }: ToolOutput) => (content ?? []).map(({ text }) => text).join('\n');

const noteSchema = {
  type: 'object',
  properties: { title: { type: 'string' }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
  required: ['title'],
  additionalProperties: false,
};

function noteTool(
  execute: (args: Record<string, unknown>) => unknown = ({ title }) => `kept ${title}`,
): Tool {
  return defineTool({
    name: 'keep_note',
    description: 'Keeps a note.',
    inputSchema: noteSchema,
    capabilities: ['write'],
    execute: (args) => execute(args) as string,
  });
}

test('a local tool is a tool like any other', async () => {
  const tool = noteTool();
  expect(tool.identity).toEqual({ kind: 'local', tool: 'keep_note' });
  expect([...tool.capabilities]).toEqual(['write']);
  expect(await tool.execute({ title: 'x' }, context())).toEqual({
    isError: false,
    content: [{ type: 'text', text: 'kept x' }],
  });
});

test('wrong arguments never reach the tool; the model reads what is wrong, field by field', async () => {
  let calls = 0;
  const tool = noteTool(() => `called ${++calls}`);
  const output = await tool.execute({ tags: ['c'], colour: 'red' }, context());
  expect(output.isError).toBe(true);
  expect(textOf(output)).toContain('arguments of keep_note are not valid');
  expect(textOf(output)).toContain("must have required property 'title'");
  expect(textOf(output)).toContain('unknown property "colour"');
  expect(textOf(output)).toContain('"tags.0": must be one of ["a","b"]');
  expect(calls).toBe(0);
});

test('a zod schema is told to the model as JSON Schema, and its defaults reach the tool', async () => {
  const tool = defineTool({
    name: 'pick',
    description: 'Picks.',
    inputSchema: z.object({
      from: z.array(z.string()).describe('what to pick from'),
      count: z.number().int().default(1),
    }),
    capabilities: ['read'],
    execute: ({ from, count }) => from.slice(0, count).join(),
  });
  expect(tool.inputSchema).toMatchObject({
    type: 'object',
    properties: { from: { type: 'array', description: 'what to pick from' } },
    required: ['from'],
  });
  expect(textOf(await tool.execute({ from: ['a', 'b'] }, context()))).toBe('a');
  const wrong = await tool.execute({ from: 'a' }, context());
  expect(wrong.isError).toBe(true);
  expect(textOf(wrong)).toContain('"from": Invalid input: expected array');
});

test('what a tool throws is an output that a model can read', async () => {
  const output = await noteTool(() => {
    throw new Error('the disk is full');
  }).execute({ title: 'x' }, context());
  expect(output.isError).toBe(true);
  expect(textOf(output)).toBe('keep_note failed: the disk is full');
});

test('an abort ends the call of a tool that does not listen', async () => {
  const abort = new AbortController();
  const call = noteTool(() => new Promise(() => {})).execute({ title: 'x' }, context(abort.signal));
  abort.abort();
  expect((await failureOf(call)).code).toBe('CANCELLED');
});

test('blocks and outputs go through as they are, and nothing is an empty success', async () => {
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' };
  expect(await noteTool(() => [image]).execute({ title: 'x' }, context())).toEqual({
    isError: false,
    content: [image],
  });
  const refusal = { isError: true, content: [image] };
  expect(await noteTool(() => refusal).execute({ title: 'x' }, context())).toBe(refusal);
  expect(await noteTool(() => undefined).execute({ title: 'x' }, context())).toEqual({
    isError: false,
    content: [],
  });
});

test.each([
  ['a name with a blank', { name: 'keep note' }, 'model providers refuse'],
  ['a name of the MCP space', { name: 'mcp__notes__keep' }, 'begins with "mcp__"'],
  ['no capability', { capabilities: [] }, 'names no capability'],
  ['a schema of a list', { inputSchema: { type: 'array' } }, 'whose "type" is not "object"'],
  ['a zod schema of a text', { inputSchema: z.string() }, 'whose "type" is not "object"'],
  ['a zod schema without a JSON form', { inputSchema: z.object({ at: z.date() }) }, 'no form in JSON Schema'],
])('%s is refused when the tool is defined', (_, bad, message) => {
  const init = {
    name: 'keep_note',
    description: '',
    inputSchema: noteSchema,
    capabilities: ['write' as const],
  };
  expect(() =>
    defineTool({ ...init, execute: () => '', ...bad } as Parameters<typeof defineTool>[0]),
  ).toThrow(message);
});

test('a schema that cannot be compiled is an error of the host, not of the model', async () => {
  const tool = defineTool({
    name: 'broken',
    description: '',
    inputSchema: { type: 'object', properties: { a: { $ref: '#/nowhere' } } },
    capabilities: ['read'],
    execute: () => 'never',
  });
  const error = await failureOf(tool.execute({}, context()));
  expect(error.code).toBe('BAD_INPUT');
  expect(error.message).toContain('local tool "broken" has a schema that cannot be used');
});
