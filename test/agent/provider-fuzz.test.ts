/** Schemas that nobody wrote: whatever a server sends, each provider's definitions stay within its limits. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aiSdk } from '../../packages/runtime/src/agent/providers/ai-sdk.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { gemini } from '../../packages/runtime/src/agent/providers/gemini.js';
import { openAiChat } from '../../packages/runtime/src/agent/providers/openai-chat.js';
import {
  checkAiSdkTools,
  checkAnthropicTools,
  checkGeminiTools,
  checkOpenAiTools,
} from './provider-limits.js';
import { withSchema } from './tools.js';

const type = fc.constantFrom(
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
  'file',
  'int',
);
const name = fc.constantFrom('a', 'b', 'c-d', '$x', 'filter[y]', 'constructor', '__proto__', 'é');
const ref = fc.constantFrom(
  '#',
  '#/$defs/a',
  '#/$defs/b',
  '#/properties/a',
  '#/anyOf/0',
  '#gone',
  'http://127.0.0.1:9/x',
);
const value = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(''),
  fc.constant([1]),
);

const { schema } = fc.letrec<{ schema: unknown; schemas: unknown[]; named: Record<string, unknown> }>(
  (tie) => ({
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.boolean(),
      fc.record({ $ref: ref, description: fc.string() }, { requiredKeys: ['$ref'] }),
      fc.record({ type: fc.oneof(type, fc.array(type, { maxLength: 3 })) }),
      fc.record(
        {
          type: fc.oneof(type, fc.array(type, { maxLength: 3 })),
          description: fc.string(),
          properties: tie('named'),
          patternProperties: tie('named'),
          required: fc.array(name, { maxLength: 3 }),
          additionalProperties: tie('schema'),
          items: fc.oneof(tie('schema'), tie('schemas')),
          prefixItems: tie('schemas'),
          additionalItems: tie('schema'),
          anyOf: tie('schemas'),
          oneOf: tie('schemas'),
          allOf: tie('schemas'),
          not: tie('schema'),
          if: tie('schema'),
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
          then: tie('schema'),
          enum: fc.array(value, { minLength: 1, maxLength: 4 }),
          const: value,
          default: value,
          nullable: fc.boolean(),
          minimum: fc.integer(),
          exclusiveMinimum: fc.oneof(fc.boolean(), fc.integer()),
          format: fc.constantFrom('uint', 'date-time', 'uri', 'x y'),
          pattern: fc.constantFrom('^a$', '\\d+'),
          discriminator: fc.record({ propertyName: name }),
          $defs: tie('named'),
          'x-foreign': value,
        },
        { requiredKeys: [] },
      ),
    ),
    schemas: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
    named: fc
      .array(fc.tuple(name, tie('schema')), { maxLength: 3 })
      .map((entries) => Object.fromEntries(entries)),
  }),
);

test('definitions are within the limits, or the tool is left out with a reason', () => {
  fc.assert(
    fc.property(schema, schema, schema, (own, a, b) => {
      const root = { ...(typeof own === 'object' ? own : {}), $defs: { a, b } };
      const tools = [withSchema(root)];
      const before = JSON.stringify(root);
      expect(checkAnthropicTools(anthropic.tools(tools).definitions)).toEqual([]);
      expect(checkOpenAiTools(openAiChat.tools(tools).definitions)).toEqual([]);
      expect(checkGeminiTools(gemini.tools(tools).definitions)).toEqual([]);
      expect(checkAiSdkTools(aiSdk.tools(tools).definitions)).toEqual([]);
      for (const profile of [anthropic, openAiChat, gemini, aiSdk]) {
        const { definitions, omitted } = profile.tools(tools);
        expect(definitions.length + omitted.length).toBe(1);
        for (const { reason } of omitted)
          expect(reason).toMatch(/^its (schema (has|is)|arguments are)|^it needs/);
      }
      expect(JSON.stringify(root)).toBe(before);
    }),
    { numRuns: 500 },
  );
});
