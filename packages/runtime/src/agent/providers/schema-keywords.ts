/**
 * The keywords of a schema that hold no schema: what of their values can be passed on. What makes a schema invalid for
 * every model is refused, what only decorates it is dropped. Pure.
 */
import { isRecord, wellFormed } from '../../content.js';
import { Unexpressible } from './schema-rules.js';

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** Names that people write where JSON Schema has another one. */
const NICKNAMES = new Map([
  ['str', 'string'],
  ['text', 'string'],
  ['int', 'integer'],
  ['int32', 'integer'],
  ['int64', 'integer'],
  ['long', 'integer'],
  ['float', 'number'],
  ['double', 'number'],
  ['bool', 'boolean'],
  ['list', 'array'],
  ['dict', 'object'],
  ['map', 'object'],
]);

const NUMBERS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']);
const COUNTS = new Set([
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]);
const TEXTS = new Set(['title', 'description', 'format', 'contentEncoding', 'contentMediaType']);
const FLAGS = new Set(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly']);
/** Of a default, an example or an enum value. */
const MAX_VALUE_DEPTH = 32;

/**
 * The value to keep; undefined drops the keyword.
 * @throws {Unexpressible} When the value makes the whole schema invalid.
 */
export function keywordValue(key: string, value: unknown, at: string): unknown {
  if (NUMBERS.has(key)) {
    if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
    return key === 'multipleOf' && value <= 0 ? undefined : value;
  }
  if (COUNTS.has(key)) return Number.isInteger(value) && (value as number) >= 0 ? value : undefined;
  if (TEXTS.has(key)) return typeof value === 'string' ? value.toWellFormed() : undefined;
  if (FLAGS.has(key)) return typeof value === 'boolean' ? value : undefined;
  switch (key) {
    case 'type':
      return typeValue(value);
    case 'required':
      return requiredValue(value, at);
    case 'enum':
      if (!Array.isArray(value) || value.length === 0) {
        throw new Unexpressible(`its schema has no values, or no list, at ${at}`);
      }
      return valuesOf(value);
    case 'const':
    case 'default':
      return plainValue(value);
    case 'examples':
      return Array.isArray(value) ? valuesOf(value) : undefined;
    case 'example':
      return undefined;
    case 'pattern':
      if (typeof value !== 'string' || !isPattern(value)) {
        throw new Unexpressible(`its schema has no regular expression at ${at}`);
      }
      return value.toWellFormed();
    case 'dependentRequired':
      return isRecord(value) && Object.values(value).every(isNames) ? wellFormed(value) : undefined;
    case 'discriminator':
      // OpenAPI's: only the name of the property is of use to a model.
      return isRecord(value) && typeof value.propertyName === 'string'
        ? value.propertyName.toWellFormed()
        : undefined;
    default:
      return undefined;
  }
}

function typeValue(value: unknown): unknown {
  const names = (Array.isArray(value) ? value : [value])
    .filter((name) => typeof name === 'string')
    .map((name) => name.toLowerCase())
    .map((name) => NICKNAMES.get(name) ?? name)
    .filter((name) => TYPES.has(name));
  const known = [...new Set(names)];
  // All seven, or none that is known, says nothing.
  if (known.length === 0) return undefined;
  return known.length === 1 ? known[0] : known;
}

function requiredValue(value: unknown, at: string): string[] | undefined {
  // Draft 3 marks the property itself; the reader lifts that.
  if (typeof value === 'boolean') return undefined;
  if (!isNames(value)) throw new Unexpressible(`its schema has no list of names at ${at}`);
  const names = [...new Set(value.map((name) => name.toWellFormed()))];
  return names.length === 0 ? undefined : names;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

/** A JSON value as it can be sent; undefined for what nests too deep to be of use. */
function plainValue(value: unknown): unknown {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_VALUE_DEPTH) return undefined;
    level = level.flatMap((part) => (typeof part === 'object' && part !== null ? Object.values(part) : []));
  }
  return wellFormed(value);
}

function valuesOf(list: readonly unknown[]): unknown[] | undefined {
  const values = distinct(list.map(plainValue).filter((value) => value !== undefined));
  return values.length === 0 ? undefined : values;
}

export function distinct(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

function isPattern(text: string): boolean {
  return ['u', ''].some((flags) => {
    try {
      new RegExp(text, flags);
      return true;
    } catch {
      return false;
    }
  });
}
