/**
 * A schema in a few words for a description, where the schema itself may not stand: `{path: string, lines?: [integer]}`.
 * Pure; bounded in length and depth.
 */
import { partsOf, propertiesOf, requiredOf, typesOf } from './schema-merge.js';
import type { SchemaNode } from './schema-rules.js';

const MAX_CHARS = 300;
const MAX_DEPTH = 4;
const MAX_NAMES = 20;

/** Undefined when there is nothing to tell beyond the type. */
export function sketch(node: SchemaNode): string | undefined {
  const words = shape(node, 0);
  if (words === '' || words === '{}' || words === '[]' || words === 'any') return undefined;
  const points = [...words];
  return points.length > MAX_CHARS ? `${points.slice(0, MAX_CHARS - 1).join('')}…` : words;
}

function shape(node: SchemaNode, depth: number): string {
  if (depth > MAX_DEPTH) return '…';
  if ('const' in node) return JSON.stringify(node.const) ?? 'any';
  if (Array.isArray(node.enum))
    return node.enum
      .slice(0, 6)
      .map((value) => JSON.stringify(value))
      .join('|');
  const types = typesOf(node) ?? [];
  if (types.includes('object') || node.properties !== undefined) return objectShape(node, depth);
  if (types.includes('array') || node.items !== undefined || node.prefixItems !== undefined) {
    const items = [...partsOf(node.prefixItems), ...[node.items].flat().filter((item) => item !== undefined)];
    return `[${items.map((item) => shape(item as SchemaNode, depth + 1)).join(', ')}]`;
  }
  const union = [...partsOf(node.anyOf), ...partsOf(node.oneOf)];
  if (union.length > 0)
    return union
      .slice(0, 6)
      .map((part) => shape(part, depth + 1))
      .join('|');
  const [all] = partsOf(node.allOf);
  if (all !== undefined) return shape(all, depth + 1);
  return types.length > 0 ? types.join('|') : 'any';
}

function objectShape(node: SchemaNode, depth: number): string {
  const required = requiredOf(node);
  const members = Object.entries(propertiesOf(node))
    .slice(0, MAX_NAMES)
    .map(([name, part]) => `${name}${required.includes(name) ? '' : '?'}: ${shape(part, depth + 1)}`);
  return `{${members.join(', ')}}`;
}
