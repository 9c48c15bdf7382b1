/**
 * How much of a value a schema describes inside of it, and what becomes of a value that lies on the last level that a
 * provider takes: its inside becomes words. Pure.
 */
import { isRecord } from '../../content.js';
import { partsOf, typesOf } from './schema-merge.js';
import { withNote } from './schema-reader.js';
import type { SchemaNode } from './schema-rules.js';
import { sketch } from './schema-sketch.js';

const CHILDREN = [
  'properties',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
  'dependentSchemas',
];
const ITEMS = ['items', 'prefixItems', 'contains', 'unevaluatedItems'];
/** Keywords that only matter with those that are cut away at the last level. */
const SHAPING = [
  'required',
  'dependentRequired',
  'unevaluatedProperties',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
];

/** Whether nothing is described inside of a value. */
export function isPlain(node: SchemaNode): boolean {
  const inside = [...CHILDREN, ...ITEMS].some(
    (key) => Array.isArray(node[key]) || (isRecord(node[key]) && Object.keys(node[key]).length > 0),
  );
  return !inside;
}

/** Whether it is a list of values in which nothing is described: such a list counts as one level. */
export function isPlainList(node: SchemaNode): boolean {
  const { items } = node;
  const others = [...CHILDREN, ...ITEMS].some((key) => key !== 'items' && isRecord(node[key]));
  return isRecord(items) && !others && !Array.isArray(node.prefixItems) && isPlainValue(items);
}

function isPlainValue(node: SchemaNode): boolean {
  const union = [...partsOf(node.anyOf), ...partsOf(node.oneOf), ...partsOf(node.allOf)];
  if (!isPlain(node) || !union.every(isPlainValue)) return false;
  return typesOf(node)?.includes('array') !== true;
}

/** The schema without what is inside, which becomes words; the schema itself when nothing is. */
export function withoutInside(node: SchemaNode): SchemaNode {
  const lost = [...CHILDREN, ...ITEMS].some((key) => isRecord(node[key]) || Array.isArray(node[key]));
  if (!lost) return node;
  const words = sketch(node);
  const flat = Object.entries(node).filter(([key]) => ![...CHILDREN, ...ITEMS, ...SHAPING].includes(key));
  const result = Object.fromEntries(flat);
  return words === undefined ? result : withNote(result, `Shape: ${words}.`);
}
