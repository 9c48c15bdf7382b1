import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { coerce, propertySchema } from '../../packages/cli/src/coerce.js';

const as = (text: string, property: unknown, root: unknown = {}): unknown =>
  JSON.parse(coerce(text, property, root));

describe('a value takes the type of the schema', () => {
  test.each([
    ['7', { type: 'integer' }, 7],
    ['-7', { type: 'integer' }, -7],
    ['0.5', { type: 'number' }, 0.5],
    ['true', { type: 'boolean' }, true],
    ['null', { type: 'null' }, null],
    ['["a"]', { type: 'array' }, ['a']],
    [' {"a":1}\n', { type: 'object' }, { a: 1 }],
    ['2', { enum: [1, 2, '3'] }, 2],
    ['3', { enum: [1, 2, '3'] }, '3'],
    ['off', { const: 'off' }, 'off'],
    ['7', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 7],
    ['7', { type: ['integer', 'null'] }, 7],
  ])('%j for %j is %j', (text, property, value) => {
    expect(as(text, property)).toEqual(value);
  });

  test('a local reference is followed, a remote or endless one leaves a string', () => {
    const root = { $defs: { 'a/b': { type: 'integer' }, loop: { $ref: '#/$defs/loop' } } };
    expect(as('7', { $ref: '#/$defs/a~1b' }, root)).toBe(7);
    expect(as('7', { $ref: '#/$defs/loop' }, root)).toBe('7');
    expect(as('7', { $ref: 'https://example.org/schema' }, root)).toBe('7');
  });
});

describe('and only when the text comes back the same', () => {
  test.each([
    ['007', { type: 'integer' }],
    ['1.0', { type: 'number' }],
    ['1e3', { type: 'integer' }],
    ['+5', { type: 'integer' }],
    ['-0', { type: 'integer' }],
    [' 5', { type: 'integer' }],
    ['0x10', { type: 'number' }],
    ['Infinity', { type: 'number' }],
    ['', { type: 'number' }],
    ['True', { type: 'boolean' }],
    ['1', { type: 'boolean' }],
    ['[broken', { type: 'array' }],
    ['{"a":1}', { type: 'array' }],
    ['a,b', { type: 'array' }],
  ])('%j for %j stays a string', (text, property) => {
    expect(as(text, property)).toBe(text);
  });

  test('an integer of any length keeps its digits', () => {
    expect(coerce('1915883588174806058', { type: 'integer' }, {})).toBe('1915883588174806058');
  });

  test('where a string is allowed, or nothing is said, the text is that string', () => {
    expect(as('7', { type: ['integer', 'string'] })).toBe('7');
    expect(as('true', {})).toBe('true');
    expect(as('7', undefined)).toBe('7');
  });

  test('whatever comes out of any text is JSON that reads as the text or prints as it', () => {
    const types = fc.constantFrom('string', 'integer', 'number', 'boolean', 'null');
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String)),
        types,
        (text, type) => {
          const value = as(text, { type });
          expect(String(value)).toBe(text);
        },
      ),
    );
  });
});

test('a property is found behind references, in combined schemas and as an additional one', () => {
  const root = {
    $ref: '#/$defs/input',
    $defs: { input: { allOf: [{ properties: { a: { type: 'integer' } } }] } },
  };
  expect(propertySchema(root, 'a')).toEqual({ type: 'integer' });
  expect(propertySchema({ additionalProperties: { type: 'number' } }, 'x')).toEqual({ type: 'number' });
  expect(propertySchema({ properties: {} }, 'constructor')).toBeUndefined();
});
