/**
 * What providers refuse, written from their documentation and their error messages and from nothing in the rewriter: a
 * list of problems for each provider's tool definitions, empty when a request would be taken.
 */
import { createRequire } from 'node:module';
import type { AiSdkDefinition } from '../../packages/runtime/src/agent/providers/ai-sdk.js';
import type { AnthropicTool } from '../../packages/runtime/src/agent/providers/anthropic.js';
import type { GeminiFunction } from '../../packages/runtime/src/agent/providers/gemini.js';
import type { OpenAiChatTool } from '../../packages/runtime/src/agent/providers/openai-chat.js';
import type { OpenAiResponsesTool } from '../../packages/runtime/src/agent/providers/openai-responses.js';

type Json = Record<string, unknown>;

interface Validator {
  validateSchema(schema: object): boolean;
  errorsText(): string;
}

// Ajv belongs to the threads' package; the tests take the same one.
const require = createRequire(new URL('../../packages/workers/package.json', import.meta.url));
const { default: Ajv2020 } = require('ajv/dist/2020') as { default: new (options: object) => Validator };
const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every schema in a schema, with its path and level: the root is 1, a property or an item one more than what holds it. */
function* schemasIn(
  schema: unknown,
  path = '',
  level = 1,
): Generator<[schema: unknown, path: string, level: number]> {
  yield [schema, path, level];
  if (!isObject(schema)) return;
  for (const key of ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']) {
    const named = Object.entries((schema[key] ?? {}) as Json);
    for (const [name, part] of named) yield* schemasIn(part, `${path}/${key}/${name}`, level + 1);
  }
  for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    const inner = key === 'prefixItems' ? level + 1 : level;
    const parts = ((schema[key] ?? []) as unknown[]).entries();
    for (const [index, part] of parts) yield* schemasIn(part, `${path}/${key}/${index}`, inner);
  }
  for (const key of ['not', 'if', 'then', 'else']) {
    if (schema[key] !== undefined) yield* schemasIn(schema[key], `${path}/${key}`, level);
  }
  for (const key of [
    'additionalProperties',
    'contains',
    'propertyNames',
    'unevaluatedItems',
    'unevaluatedProperties',
  ]) {
    if (schema[key] !== undefined) yield* schemasIn(schema[key], `${path}/${key}`, level + 1);
  }
  if (schema.items !== undefined) {
    // A list of plain values is as deep as a plain value.
    yield* schemasIn(schema.items, `${path}/items`, holdsValues(schema.items) ? level + 1 : level);
  }
}

/** Whether anything is described inside of the values that a schema takes. */
function holdsValues(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (schema.items !== undefined || schema.prefixItems !== undefined) return true;
  if (Object.keys((schema.properties ?? {}) as Json).length > 0 || isObject(schema.additionalProperties))
    return true;
  return [schema.anyOf, schema.oneOf, schema.allOf].some(
    (parts) => Array.isArray(parts) && parts.some(holdsValues),
  );
}

function common(names: readonly string[], pattern: RegExp, max: number): string[] {
  const problems = names.filter((name) => !pattern.test(name)).map((name) => `name ${name}`);
  if (new Set(names).size !== names.length) problems.push('a name stands twice');
  if (names.length > max) problems.push(`${names.length} tools`);
  return problems;
}

function sound(value: unknown): string[] {
  const text = JSON.stringify(value);
  const problems: string[] = [];
  if (/\\ud[89a-f]/i.test(text)) problems.push('half a surrogate pair');
  if (text.includes('"$ref"') || text.includes('"$defs"')) problems.push('a reference');
  return problems;
}

function anthropicSchema(schema: Json, where: string): string[] {
  const problems = sound(schema).map((problem) => `${where}: ${problem}`);
  if (schema.type !== 'object') problems.push(`${where}: the root is not an object`);
  for (const key of ['oneOf', 'anyOf', 'allOf'])
    if (key in schema) problems.push(`${where}: ${key} at the root`);
  if (!ajv.validateSchema(schema)) problems.push(`${where}: not 2020-12: ${ajv.errorsText()}`);
  for (const [part, path] of schemasIn(schema)) {
    for (const name of Object.keys(isObject(part) ? ((part.properties ?? {}) as Json) : {})) {
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) problems.push(`${where}${path}: property ${name}`);
    }
  }
  return problems;
}

export function checkAnthropicTools(tools: readonly AnthropicTool[]): string[] {
  const names = tools.map((tool) => tool.name);
  return [
    ...common(names, /^[a-zA-Z0-9_-]{1,64}$/, Number.POSITIVE_INFINITY),
    ...tools.flatMap((tool) => anthropicSchema(tool.input_schema, tool.name)),
    ...tools.filter((tool) => tool.description === '').map((tool) => `${tool.name}: empty description`),
  ];
}

const OPENAI_KEYWORDS = new Set(
  `type title description default enum const format pattern minLength maxLength minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf properties required additionalProperties minProperties maxProperties items minItems
  maxItems uniqueItems anyOf deprecated`.split(/\s+/),
);
const OPENAI_FORMATS = 'date-time time date duration email hostname ipv4 ipv6 uuid'.split(' ');

function openAiSchema(schema: Json, where: string): string[] {
  const problems = sound(schema).map((problem) => `${where}: ${problem}`);
  if (schema.type !== 'object') problems.push(`${where}: the root is not an object`);
  if (!isObject(schema.properties)) problems.push(`${where}: object schema missing properties`);
  for (const key of ['oneOf', 'anyOf', 'allOf', 'enum', 'not'])
    if (key in schema) problems.push(`${where}: ${key} at the root`);
  if (!ajv.validateSchema(schema)) problems.push(`${where}: no JSON Schema: ${ajv.errorsText()}`);
  let properties = 0;
  let values = 0;
  for (const [part, path, level] of schemasIn(schema)) {
    if (level > 10 && isObject(part)) problems.push(`${where}${path}: level ${level}`);
    if (typeof part === 'boolean' && !/additionalProperties$/.test(path))
      problems.push(`${where}${path}: boolean`);
    if (!isObject(part)) continue;
    properties += Object.keys((part.properties ?? {}) as Json).length;
    values += Array.isArray(part.enum) ? part.enum.length : 0;
    if ([part.type].flat().includes('array') && !isObject(part.items))
      problems.push(`${where}${path}: array schema missing items`);
    if (part.format !== undefined && !OPENAI_FORMATS.includes(String(part.format)))
      problems.push(`${where}${path}: format ${part.format}`);
    for (const key of Object.keys(part))
      if (!OPENAI_KEYWORDS.has(key)) problems.push(`${where}${path}: keyword ${key}`);
  }
  if (properties > 5_000) problems.push(`${where}: ${properties} properties`);
  if (values > 1_000) problems.push(`${where}: ${values} enum values`);
  return problems;
}

export function checkOpenAiTools(tools: readonly (OpenAiChatTool | OpenAiResponsesTool)[]): string[] {
  const plain = tools.map((tool) => ('function' in tool ? tool.function : tool));
  const strict = tools.filter((tool) => 'strict' in tool && tool.strict !== false);
  return [
    ...common(
      plain.map((tool) => tool.name),
      /^[a-zA-Z0-9_-]{1,64}$/,
      128,
    ),
    ...plain
      .filter((tool) => (tool.description ?? 'x').length > 1_024 || tool.description === '')
      .map((tool) => `${tool.name}: description`),
    ...plain.flatMap((tool) => openAiSchema(tool.parameters, tool.name)),
    ...strict.map((tool) => `${JSON.stringify(tool)} is strict`),
  ];
}

const GEMINI_KEYWORDS = new Set(
  `type title description enum format minimum maximum properties required additionalProperties prefixItems items
  minItems maxItems anyOf`.split(/\s+/),
);

function geminiSchema(schema: Json, where: string): string[] {
  const problems = sound(schema).map((problem) => `${where}: ${problem}`);
  if (schema.type !== 'object') problems.push(`${where}: the root is not an object`);
  for (const [part, path, level] of schemasIn(schema)) {
    const at = `${where}${path}`;
    if (level > 5 && isObject(part)) problems.push(`${at}: exceeds the maximum allowed nesting depth`);
    if (!isObject(part)) {
      if (!/additionalProperties$/.test(path)) problems.push(`${at}: boolean`);
      continue;
    }
    for (const key of Object.keys(part))
      if (!GEMINI_KEYWORDS.has(key)) problems.push(`${at}: keyword ${key}`);
    if (part.type === undefined && part.anyOf === undefined) problems.push(`${at}: no type`);
    const types = [part.type].flat().filter((type) => type !== undefined && type !== 'null');
    if (types.length > 1) problems.push(`${at}: types ${types.join(', ')}`);
    if (types.includes('array') && !isObject(part.items)) problems.push(`${at}: items: missing field`);
    if (part.format !== undefined && part.format !== 'date-time')
      problems.push(`${at}: format ${part.format}`);
    for (const value of (part.enum ?? []) as unknown[]) {
      if (value === '' || (typeof value !== 'string' && typeof value !== 'number'))
        problems.push(`${at}: enum value ${value}`);
    }
    if (Array.isArray(part.enum) && part.enum.length === 0) problems.push(`${at}: empty enum`);
    for (const name of Object.keys((part.properties ?? {}) as Json)) {
      if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/.test(name)) problems.push(`${at}: property ${name}`);
    }
    for (const name of (part.required ?? []) as string[]) {
      if (!Object.hasOwn((part.properties ?? {}) as Json, name))
        problems.push(`${at}: required ${name}: property is not defined`);
    }
  }
  return problems;
}

export function checkGeminiTools(tools: readonly GeminiFunction[]): string[] {
  return [
    ...common(
      tools.map((tool) => tool.name),
      /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/,
      512,
    ),
    ...tools.flatMap((tool) =>
      tool.parametersJsonSchema === undefined ? [] : geminiSchema(tool.parametersJsonSchema, tool.name),
    ),
  ];
}

/** Any provider may stand behind the SDK: what each of them takes. */
export function checkAiSdkTools(tools: readonly AiSdkDefinition[]): string[] {
  const names = tools.map((tool) => tool.name);
  return [
    ...common(names, /^[a-zA-Z0-9_-]{1,64}$/, Number.POSITIVE_INFINITY),
    ...tools.flatMap((tool) => [
      ...anthropicSchema(tool.inputSchema, tool.name),
      ...openAiSchema(tool.inputSchema, tool.name),
    ]),
  ];
}
