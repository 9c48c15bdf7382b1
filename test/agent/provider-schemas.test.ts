/** Schemas that providers do not take as they are: unions, bounds, names, and what is no schema at all. */
import { describe, expect, test } from 'vitest';
import { aiSdk } from '../../packages/runtime/src/agent/providers/ai-sdk.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { gemini } from '../../packages/runtime/src/agent/providers/gemini.js';
import { openAiChat } from '../../packages/runtime/src/agent/providers/openai-chat.js';
import { openAiResponses } from '../../packages/runtime/src/agent/providers/openai-responses.js';
import { anthropicSchema, fine, geminiSchema, object, openAiSchema, verdictOn } from './provider-verdict.js';
import { toolOf, withSchema } from './tools.js';

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
