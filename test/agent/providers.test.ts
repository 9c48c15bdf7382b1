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
import type { SchemaNode } from '../../packages/runtime/src/agent/providers/schema-rules.js';
import {
  checkAiSdkTools,
  checkAnthropicTools,
  checkGeminiTools,
  checkOpenAiTools,
} from './provider-limits.js';
import { toolOf, withSchema } from './tools.js';

const anthropicSchema = (schema: unknown): SchemaNode | undefined =>
  anthropic.tools([withSchema(schema)]).definitions[0]?.input_schema;
const openAiSchema = (schema: unknown): SchemaNode | undefined =>
  openAiChat.tools([withSchema(schema)]).definitions[0]?.function.parameters;
const geminiSchema = (schema: unknown): SchemaNode | undefined =>
  gemini.tools([withSchema(schema)]).definitions[0]?.parametersJsonSchema;

/** Problems that any provider has with one schema, and the tools that were left out. */
function verdictOn(schema: unknown) {
  const tools = [withSchema(schema)];
  const all = [anthropic, openAiChat, openAiResponses, gemini, aiSdk].map((profile) => profile.tools(tools));
  const problems = [
    ...checkAnthropicTools(anthropic.tools(tools).definitions),
    ...checkOpenAiTools(openAiChat.tools(tools).definitions),
    ...checkOpenAiTools(openAiResponses.tools(tools).definitions),
    ...checkGeminiTools(gemini.tools(tools).definitions),
    ...checkAiSdkTools(aiSdk.tools(tools).definitions),
  ];
  return { problems, omitted: all.flatMap(({ omitted }) => omitted.map(({ reason }) => reason)) };
}

const fine = { problems: [], omitted: [] };
const object = (properties: unknown, more = {}) => ({ type: 'object', properties, ...more });

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

describe('dialects', () => {
  test.each([
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/draft-06/schema',
    'https://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
    'https://example.com/no-such-dialect',
  ])('a schema that says it is %s is taken by every provider', ($schema) => {
    const schema = { $schema, $id: 'urn:x', ...object({ n: { type: 'integer', minimum: 1 } }) };
    expect(verdictOn(schema)).toEqual(fine);
    expect(anthropicSchema(schema)).toEqual(object({ n: { type: 'integer', minimum: 1 } }));
  });

  test('exclusive bounds of draft 4 become numbers', () => {
    const schema = object({
      n: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    });
    expect(anthropicSchema(schema)?.properties).toEqual({
      n: { type: 'number', maximum: 9, exclusiveMinimum: 0 },
    });
    expect(geminiSchema(object({ n: { type: 'integer', exclusiveMinimum: 0 } }))?.properties).toEqual({
      n: { type: 'integer', minimum: 1 },
    });
  });

  test('tuples of older drafts become prefixItems, and a list with words where there are no tuples', () => {
    const schema = object({
      at: { type: 'array', items: [{ type: 'number' }, { type: 'string' }], additionalItems: false },
    });
    expect(anthropicSchema(schema)?.properties).toEqual({
      at: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], items: false },
    });
    expect(openAiSchema(schema)?.properties).toEqual({
      at: {
        type: 'array',
        description: 'In order: [number, string].',
        items: { anyOf: [{ type: 'number' }, { type: 'string' }] },
        maxItems: 2,
      },
    });
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('nullable of OpenAPI and required inside a property are understood', () => {
    const schema = object({
      a: { type: 'string', nullable: true, required: true },
      b: { type: 'string', enum: ['x'], nullable: true },
    });
    expect(anthropicSchema(schema)).toEqual(
      object(
        { a: { type: ['string', 'null'] }, b: { type: ['string', 'null'], enum: ['x', null] } },
        { required: ['a'] },
      ),
    );
    expect(geminiSchema(schema)?.properties).toEqual({
      a: { type: ['string', 'null'] },
      b: { type: ['string', 'null'], enum: ['x'] },
    });
  });

  test('types by other names are understood, unknown ones say nothing', () => {
    const schema = object({ a: { type: 'int' }, b: { type: 'String' }, c: { type: 'file' } });
    expect(anthropicSchema(schema)?.properties).toEqual({
      a: { type: 'integer' },
      b: { type: 'string' },
      c: {},
    });
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('formats that nobody defined go; those that a provider refuses are told in words', () => {
    const schema = object({
      n: { type: 'integer', format: 'uint' },
      u: { type: 'string', format: 'uri', description: 'Where.' },
    });
    expect(anthropicSchema(schema)?.properties).toEqual({
      n: { type: 'integer', description: 'Format: uint.' },
      u: { type: 'string', format: 'uri', description: 'Where.' },
    });
    expect(openAiSchema(schema)?.properties).toMatchObject({
      u: { type: 'string', description: 'Where. Format: uri.' },
    });
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('a constant is an enum for Gemini, and words where it is no string or number', () => {
    const schema = object({ kind: { const: 'file' }, on: { const: true }, n: { const: 3 } });
    expect(geminiSchema(schema)?.properties).toEqual({
      kind: { type: 'string', enum: ['file'] },
      on: { type: 'boolean', description: 'One of true.' },
      n: { type: 'number', enum: [3] },
    });
    expect(anthropicSchema(schema)?.properties).toEqual({
      kind: { const: 'file' },
      on: { const: true },
      n: { const: 3 },
    });
  });

  test('a list of types is a union for Gemini, with what belongs to each', () => {
    const schema = object({
      v: { type: ['string', 'number', 'null'], minLength: 1, minimum: 2, description: 'A value.' },
    });
    expect(geminiSchema(schema)?.properties).toEqual({
      v: {
        description: 'A value.',
        anyOf: [{ type: 'string' }, { type: 'number', minimum: 2 }, { type: 'null' }],
      },
    });
  });

  test('boolean schemas are legal at any position', () => {
    const schema = object(
      {
        any: true,
        never: false,
        list: { type: 'array', items: true },
        union: { anyOf: [true, { type: 'string' }] },
      },
      { additionalProperties: true, required: ['any'] },
    );
    expect(verdictOn(schema)).toEqual(fine);
    expect(anthropicSchema(schema)).toEqual(
      object(
        { any: {}, list: { type: 'array', items: {} }, union: {} },
        { required: ['any'], additionalProperties: true },
      ),
    );
  });

  test('an object stays as open as its server left it', () => {
    expect(anthropicSchema(object({ a: { type: 'string' } }))).not.toHaveProperty('additionalProperties');
    expect(openAiSchema(object({ a: { type: 'string' } }))).not.toHaveProperty('additionalProperties');
    const map = { type: 'object', additionalProperties: { type: 'number' } };
    expect(geminiSchema(map)).toEqual({
      type: 'object',
      properties: {},
      additionalProperties: { type: 'number' },
    });
  });
});

describe('references', () => {
  test('they are put in place, from $defs, definitions, any pointer, anchors and embedded ids', () => {
    const schema = object(
      {
        a: { $ref: '#/$defs/A', description: 'Mine.' },
        b: { $ref: '#/definitions/B%20C' },
        c: { $ref: '#/properties/d/items' },
        d: { type: 'array', items: { type: 'boolean' } },
        e: { $ref: '#anchor' },
        f: { $ref: 'https://example.com/f.json' },
      },
      {
        $id: 'https://example.com/root.json',
        $defs: {
          A: { type: 'string', description: 'General.' },
          E: { $anchor: 'anchor', type: 'null' },
          F: { $id: 'f.json', type: 'integer' },
        },
        definitions: { 'B C': { type: 'number' } },
      },
    );
    expect(anthropicSchema(schema)).toEqual(
      object({
        a: { type: 'string', description: 'Mine.' },
        b: { type: 'number' },
        c: { type: 'boolean' },
        d: { type: 'array', items: { type: 'boolean' } },
        e: { type: 'null' },
        f: { type: 'integer' },
      }),
    );
  });

  test.each([
    [
      '$defs',
      { $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } } } },
      { $ref: '#/$defs/Node' },
    ],
    [
      'a property',
      {},
      { type: 'array', items: { type: 'object', properties: { kids: { $ref: '#/properties/nodes' } } } },
    ],
    ['the whole', {}, { $ref: '#' }],
    [
      'an allOf in a circle',
      { $defs: { A: { allOf: [{ $ref: '#/$defs/B' }] }, B: { allOf: [{ $ref: '#/$defs/A' }] } } },
      { $ref: '#/$defs/A' },
    ],
  ])('a shape that contains itself through %s ends, and says so', (_, more, nodes) => {
    const schema = object({ nodes }, more);
    expect(verdictOn(schema)).toEqual(fine);
    const { definitions, notes } = anthropic.tools([withSchema(schema)]);
    expect(JSON.stringify(definitions)).toContain('Again of the shape');
    expect(notes[0]?.note).toContain('contains itself');
  });

  test('an object that really is a circle ends as well', () => {
    const schema: Record<string, unknown> = { type: 'object', properties: {} };
    (schema.properties as Record<string, unknown>).self = schema;
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('a remote reference is not fetched: the value is open and the reason noted', () => {
    const schema = object({ a: { $ref: 'http://127.0.0.1:9/schema.json#/x', description: 'A.' } });
    const { definitions, notes } = anthropic.tools([withSchema(schema)]);
    expect(definitions[0]?.input_schema.properties).toEqual({
      a: { description: 'A. Defined elsewhere: http://127.0.0.1:9/schema.json#/x.' },
    });
    expect(notes[0]?.note).toContain('is defined elsewhere and was not fetched');
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('a reference that leads nowhere opens that value only', () => {
    const schema = object({ a: { $ref: '#/$defs/Missing' }, b: { type: 'string' } });
    expect(anthropicSchema(schema)?.properties).toMatchObject({ b: { type: 'string' } });
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('references that double at each step stay small', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        object({ l: { $ref: `#/$defs/d${n + 1}` }, r: { $ref: `#/$defs/d${n + 1}` } }),
      ]),
    );
    const schema = object({ top: { $ref: '#/$defs/d0' } }, { $defs });
    expect(verdictOn(schema)).toEqual(fine);
    expect(JSON.stringify(anthropicSchema(schema)).length).toBeLessThan(64 * 1024);
  });
});

describe('unions at the root', () => {
  test('"at least one of" stays as words', () => {
    const schema = object(
      { id: { type: 'string' }, title: { type: 'string' }, body: { type: 'string' } },
      { required: ['id'], anyOf: [{ required: ['title'] }, { required: ['body'] }] },
    );
    expect(anthropicSchema(schema)).toEqual({
      type: 'object',
      description: 'Give one of: title; or body.',
      properties: schema.properties,
      required: ['id'],
    });
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('forms become one object; what tells them apart is an enum, and words say what goes together', () => {
    const schema = {
      oneOf: [
        object({ kind: { const: 'file' }, path: { type: 'string' } }, { required: ['kind', 'path'] }),
        object({ kind: { const: 'url' }, url: { type: 'string' } }, { required: ['kind', 'url'] }),
      ],
      discriminator: { propertyName: 'kind' },
    };
    expect(openAiSchema(schema)).toEqual({
      type: 'object',
      description: 'Give one of: kind "file", path; or kind "url", url. "kind" tells the forms apart.',
      properties: { kind: { enum: ['file', 'url'] }, path: { type: 'string' }, url: { type: 'string' } },
      required: ['kind'],
    });
    expect(verdictOn(schema)).toEqual(fine);
  });

  test('allOf at the root is merged, with references in it', () => {
    const schema = {
      type: 'object',
      allOf: [{ $ref: '#/$defs/Base' }, object({ b: { type: 'number' } }, { required: ['b'] })],
      $defs: { Base: object({ a: { type: 'string' } }, { required: ['a'], additionalProperties: false }) },
    };
    expect(anthropicSchema(schema)).toEqual(
      object({ a: { type: 'string' }, b: { type: 'number' } }, { required: ['a', 'b'] }),
    );
  });

  test('null beside the object at the root is dropped, and arguments that are no object leave the tool out', () => {
    expect(anthropicSchema({ ...object({ a: { type: 'string' } }), type: ['object', 'null'] })?.type).toBe(
      'object',
    );
    expect(verdictOn({ type: 'array', items: { type: 'string' } }).omitted).toEqual(
      Array(5).fill('its arguments are of type array, not an object'),
    );
  });

  test('names that every object has are names like others', () => {
    const schema = {
      oneOf: [
        object({ constructor: { type: 'string' } }),
        object({ toString: { type: 'string' }, ['__proto__']: { type: 'number' } }),
      ],
    };
    expect(Object.keys(anthropicSchema(schema)?.properties as object).sort()).toEqual([
      '__proto__',
      'constructor',
      'toString',
    ]);
  });
});

describe('bounds', () => {
  function nested(levels: number): unknown {
    let schema: unknown = { type: 'string' };
    for (let level = 0; level < levels; level++) schema = object({ p: schema });
    return schema;
  }

  test('a schema of 20 000 levels ends in words, and does not overflow the stack', () => {
    expect(verdictOn(nested(20_000))).toEqual(fine);
  });

  test('what lies too deep for a provider is told in words', () => {
    const schema = object({
      a: object({ b: object({ c: object({ d: object({ e: { type: 'string' } }, { required: ['e'] }) }) }) }),
    });
    const d = { type: 'object', description: 'Shape: {e: string}.' };
    expect(geminiSchema(schema)).toEqual(object({ a: object({ b: object({ c: object({ d }) }) }) }));
    expect(JSON.stringify(anthropicSchema(schema))).toBe(JSON.stringify(schema));
  });

  test('an enum of thousands becomes a sentence instead of forbidding values', () => {
    const values = Array.from({ length: 3_000 }, (_, index) => `v${index}`);
    const schema = object({ id: { type: 'string', enum: values }, small: { enum: ['a'] } });
    expect(openAiSchema(schema)?.properties).toMatchObject({
      id: { type: 'string', description: expect.stringMatching(/^One of 3000 values, such as "v0", "v1"/) },
      small: { enum: ['a'] },
    });
  });

  test('a schema of many bytes loses its inner levels, then the tool is left out', () => {
    const wide = (prefix: string, size: number) =>
      Object.fromEntries(
        Array.from({ length: size }, (_, n) => [
          `${prefix}${n}`,
          { type: 'string', description: 'x'.repeat(80) },
        ]),
      );
    const deep = object({ a: object({ b: object(wide('p', 1_000)) }), c: { type: 'string' } });
    const { definitions, notes } = anthropic.tools([withSchema(deep)]);
    expect(definitions[0]?.input_schema.properties).toMatchObject({ c: { type: 'string' } });
    expect(JSON.stringify(definitions).length).toBeLessThan(64 * 1024);
    expect(notes.map(({ note }) => note).join()).toContain('larger than 65536 bytes');
    const flat = object({ text: { type: 'string', description: 'x'.repeat(100_000) }, ...wide('p', 900) });
    expect(
      anthropic.tools([withSchema({ ...flat, description: 'y'.repeat(70_000) })]).omitted[0]?.reason,
    ).toContain('is larger than 65536 bytes');
  });

  test('too many properties leave the tool out', () => {
    const properties = Object.fromEntries(Array.from({ length: 5_001 }, (_, n) => [`p${n}`, {}]));
    expect(openAiChat.tools([withSchema(object(properties))]).omitted[0]?.reason).toBe(
      'its schema has more than 5000 properties; OpenAI takes no more',
    );
  });
});

describe('names of properties', () => {
  test('a name that Anthropic refuses is told in words, and the object stays open for it', () => {
    const schema = object(
      { 'filter[x]': { type: 'string' }, ok: { type: 'string' } },
      { required: ['ok'], additionalProperties: false },
    );
    expect(anthropicSchema(schema)).toEqual({
      type: 'object',
      description: 'Also takes "filter[x]" (string).',
      properties: { ok: { type: 'string' } },
      required: ['ok'],
    });
    expect(openAiSchema(schema)?.properties).toHaveProperty('filter[x]');
    expect(verdictOn(schema).problems).toEqual([]);
  });

  test('a tool that needs such an argument is left out, with the name and the rule', () => {
    const schema = object({ 'X Y': { type: 'string' } }, { required: ['X Y'] });
    expect(anthropic.tools([withSchema(schema)]).omitted[0]?.reason).toBe(
      'it needs an argument called "X Y"; Anthropic takes names that match /^[a-zA-Z0-9_.-]{1,64}$/',
    );
  });

  test('required names that are not described are told in words for Gemini', () => {
    const schema = object({ a: object({ x: { type: 'string' } }, { required: ['x', 'y'] }) });
    expect(geminiSchema(schema)?.properties).toMatchObject({
      a: { required: ['x'], description: 'Needs "y" as well.' },
    });
  });
});

describe('schemas that no model could take', () => {
  test.each([
    [
      'a list among the properties',
      object({ coin: { type: 'string' }, required: ['coin'] }),
      'properties/required',
    ],
    ['an empty enum', object({ a: { enum: [] } }), '/properties/a/enum'],
    ['required as text', object({ a: {} }, { required: 'a' }), '/required'],
    ['a broken pattern', object({ a: { type: 'string', pattern: '(' } }), '/properties/a/pattern'],
    ['null as a schema', object({ a: null }), '/properties/a'],
  ])('%s leaves that tool out, with the place, and the other tools stay', (_, schema, place) => {
    const tools = [withSchema(schema), toolOf({ name: 'other' })];
    for (const profile of [anthropic, openAiChat, openAiResponses, gemini, aiSdk]) {
      const { definitions, omitted } = profile.tools(tools);
      expect(definitions).toHaveLength(1);
      expect(omitted).toHaveLength(1);
      expect(omitted[0]).toMatchObject({ tool: 'tool', reason: expect.stringContaining(place) });
    }
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
