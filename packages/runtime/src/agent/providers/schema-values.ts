/**
 * The parts of a schema that name values and types, in the plain form that Gemini wants: no type that is not said, no
 * list of types, no enum of anything but strings and numbers. Pure.
 */
import { typesOf } from './schema-merge.js';
import { withNote } from './schema-reader.js';
import type { SchemaNode } from './schema-rules.js';

/** Any JSON value, spelled out; without lists where they would be a level too many. */
export function openValue(lists: boolean): SchemaNode {
  const plain = ['string', 'number', 'boolean', 'object'].map((type) => ({ type }));
  return { anyOf: lists ? [...plain, { type: 'array', items: { anyOf: plain } }] : plain };
}

const TELLTALES: readonly (readonly [string, readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']],
  ['string', ['pattern', 'minLength', 'maxLength', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** Says the type that the other keywords imply. */
export function withType(node: SchemaNode): SchemaNode {
  if (node.type !== undefined || node.anyOf !== undefined || node.oneOf !== undefined) return node;
  if (Array.isArray(node.enum)) {
    const types = [...new Set(node.enum.map(typeOf))];
    return { ...node, type: types.length === 1 ? types[0] : types };
  }
  const implied = TELLTALES.find(([, keys]) => keys.some((key) => node[key] !== undefined));
  return implied === undefined ? node : { ...node, type: implied[0] };
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
}

/** Keywords that belong to one type, when a list of types is taken apart. */
const OF_TYPE = new Map<string, readonly string[]>([
  [
    'object',
    ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'maxProperties'],
  ],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']],
  ['string', ['pattern', 'minLength', 'maxLength', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]);

/** `type: [a, b]` as a union of `a` and `b`; null may stay beside one other type. */
export function spelledTypes(node: SchemaNode): SchemaNode {
  const types = typesOf(node);
  if (types === undefined) return node;
  const real = types.filter((type) => type !== 'null');
  if (real.length <= 1 || node.anyOf !== undefined) {
    // A union beside a list of types says more than the list.
    if (real.length > 1) {
      const { type: _, ...rest } = node;
      return rest;
    }
    return node;
  }
  const { type: _, ...rest } = node;
  const owned = new Set([...OF_TYPE.values()].flat());
  const common = Object.entries(rest).filter(([key]) => !owned.has(key) && key !== 'enum');
  return {
    ...Object.fromEntries(common),
    anyOf: types.map((type) => {
      const keys = OF_TYPE.get(type === 'integer' ? 'number' : type) ?? [];
      const branch: SchemaNode = { type };
      for (const key of keys) if (rest[key] !== undefined) branch[key] = rest[key];
      const values = Array.isArray(rest.enum) ? rest.enum.filter((value) => typeOf(value) === type) : [];
      if (values.length > 0) branch.enum = values;
      return branch;
    }),
  };
}

/** Strings and numbers stay; null moves to the type; what cannot stand in the list is told in words. */
export function plainEnum(node: SchemaNode): SchemaNode {
  const values = Array.isArray(node.enum) ? node.enum : [];
  const plain = values.filter(
    (value) =>
      (typeof value === 'string' && value !== '') || (typeof value === 'number' && Number.isFinite(value)),
  );
  const { enum: _, ...rest } = node;
  const others = values.filter((value) => value !== null && !plain.includes(value));
  if (values.includes(null)) {
    const types = typesOf(rest) ?? values.map(typeOf);
    const all = [...new Set([...types, 'null'])];
    rest.type = all.length === 1 ? 'null' : all;
  } else if (rest.type === undefined) {
    const types = [...new Set(values.map(typeOf))];
    rest.type = types.length === 1 ? types[0] : types;
  }
  const told =
    others.length === 0
      ? rest
      : withNote(rest, `One of ${values.map((value) => JSON.stringify(value)).join(', ')}.`);
  // A list without some of its values would forbid them.
  return others.length > 0 || plain.length === 0 ? told : { ...told, enum: plain };
}
