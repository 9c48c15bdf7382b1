/** Schemas of every dialect, and what their references become. */
import { describe, expect, test } from 'vitest';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { anthropicSchema, fine, geminiSchema, object, openAiSchema, verdictOn } from './provider-verdict.js';
import { withSchema } from './tools.js';

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

  test('names by pattern are told in words where there is no keyword for them, and forbid no other name', () => {
    const patterned = { type: 'object', patternProperties: { '^x-': { type: 'string' } } };
    expect(anthropicSchema(object({ h: patterned }))?.properties).toEqual({ h: patterned });
    const told = { type: 'object', description: 'Names that match ^x- (string).' };
    expect(openAiSchema(object({ h: patterned }))?.properties).toEqual({
      h: { ...told, additionalProperties: true },
    });
    expect(openAiSchema(object({ h: { ...patterned, additionalProperties: false } }))?.properties).toEqual({
      h: { ...told, additionalProperties: { type: 'string' } },
    });
  });

  test('a "not" that cannot be read forbids nothing', () => {
    const schema = object({
      a: { type: 'string', not: { $ref: 'https://example.com/x' } },
      b: { not: { const: 1 } },
    });
    expect(anthropicSchema(schema)?.properties).toEqual({ a: { type: 'string' }, b: { not: { const: 1 } } });
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
