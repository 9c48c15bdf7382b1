/**
 * What both APIs of OpenAI have in common. Strict mode is never turned on: it would make every argument required and
 * close every object, which servers do not mean.
 *
 * | limit | from |
 * |---|---|
 * | name: a-z, A-Z, 0-9, underscores, dashes, at most 64 | API reference, `FunctionDefinition` |
 * | description at most 1024 characters | error "string too long. Expected a string with maximum length 1024" |
 * | at most 128 tools | API reference, `tools`; error "array too long" |
 * | root of type object without oneOf, anyOf, allOf, enum, not | error "schema must have type 'object' and not have …" |
 * | root with `properties`, arrays with `items` that is an object | errors "object schema missing properties", "array schema missing items" |
 * | keywords, formats | guide "Structured outputs", supported schemas: what strict mode refuses is told in words, so that gateways that turn it on do not fail |
 * | 5 000 properties, 10 levels, 1 000 enum values | the same page; published for strict mode only, taken as the only numbers there are |
 * | images png, jpeg, webp, gif | guide "Images and vision" |
 */
import type { MediaRules, ToolLimits } from './profile.js';
import { jsonSchemaKeywords, ownBounds, type SchemaRules } from './schema-rules.js';

const UNSUPPORTED = new Set([
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
  'prefixItems',
  'contains',
  'minContains',
  'maxContains',
  'contentEncoding',
  'contentMediaType',
  'readOnly',
  'writeOnly',
  'examples',
]);

export const openAiRules: SchemaRules = {
  provider: 'OpenAI',
  keywords: new Set(jsonSchemaKeywords.filter((key) => !UNSUPPORTED.has(key))),
  formats: new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']),
  propertyName: undefined,
  allOf: false,
  oneOf: false,
  typeLists: true,
  tuples: false,
  needsItems: true,
  needsType: false,
  definesRequired: false,
  plainEnums: false,
  maxDepth: 10,
  maxProperties: 5_000,
  maxEnumValues: 1_000,
  maxSchemaBytes: ownBounds.maxSchemaBytes,
};

export const openAiLimits: ToolLimits = {
  maxTools: 128,
  name: /^[a-zA-Z0-9_-]{1,64}$/,
  maxDescription: 1_024,
};

export const openAiMedia: MediaRules = {
  images: new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']),
  audio: new Set(),
  maxEncodedBytes: 5 * 1024 * 1024,
};
