/**
 * Keywords that a provider does not know, said in another way: by a keyword that it knows, else in the description, where a
 * model reads them. Pure.
 */
import { isRecord } from '../../content.js';
import { distinct } from './schema-keywords.js';
import { isImpossible, partsOf, typesOf } from './schema-merge.js';
import { withNote } from './schema-reader.js';
import type { SchemaNode, SchemaRules } from './schema-rules.js';
import { sketch } from './schema-sketch.js';

/** The schema with words for the keywords that a provider does not know. */
export function withWords(node: SchemaNode, { keywords, formats, tuples }: SchemaRules): SchemaNode {
  let result = node;
  if (typeof node.format === 'string' && !(keywords.has('format') && formats.has(node.format))) {
    const { format, ...rest } = result;
    result = /^[\w-]{1,32}$/.test(String(format)) ? withNote(rest, `Format: ${format}.`) : rest;
  }
  if (typeof node.pattern === 'string' && !keywords.has('pattern') && node.pattern.length <= 120) {
    result = withNote(result, `Pattern: ${node.pattern}`);
  }
  if (Array.isArray(node.prefixItems) && !tuples) result = asList(result);
  if (isRecord(node.patternProperties) && !keywords.has('patternProperties')) result = withAnyName(result);
  for (const [exclusive, bound, step] of [
    ['exclusiveMinimum', 'minimum', 1],
    ['exclusiveMaximum', 'maximum', -1],
  ] as const) {
    const value = result[exclusive];
    if (typeof value !== 'number' || keywords.has(exclusive) || result[bound] !== undefined) continue;
    const whole = typesOf(result)?.includes('integer') === true && Number.isInteger(value);
    result = { ...result, [bound]: whole ? value + step : value };
  }
  return result;
}

/** A tuple as a list of whatever its places take. */
function asList(node: SchemaNode): SchemaNode {
  const { prefixItems, items, ...rest } = node;
  const places = partsOf(prefixItems);
  const closed = isRecord(items) && isImpossible(items);
  const shapes = distinct(closed || items === undefined ? places : [...places, items]) as SchemaNode[];
  const told = sketch({ type: 'array', prefixItems });
  const list: SchemaNode = {
    ...rest,
    items: shapes.length === 1 && shapes[0] !== undefined ? shapes[0] : { anyOf: shapes },
    ...(closed && rest.maxItems === undefined && { maxItems: places.length }),
  };
  return told === undefined ? list : withNote(list, `In order: ${told}.`);
}

/** Names by pattern as any other name, and the patterns as words. Names that fit no pattern stay as free as they were. */
function withAnyName(node: SchemaNode): SchemaNode {
  const { patternProperties, additionalProperties: others, ...rest } = node;
  const entries = Object.entries(patternProperties as Record<string, SchemaNode>);
  const [only, ...more] = distinct(entries.map(([, schema]) => schema)) as SchemaNode[];
  if (only === undefined) return others === undefined ? rest : { ...rest, additionalProperties: others };
  const patterns = entries
    .map(([pattern, schema]) => `${pattern} (${sketch(schema) ?? 'any value'})`)
    .join(', ');
  const additionalProperties = others === false && more.length === 0 ? only : true;
  const open = { ...rest, additionalProperties };
  return patterns.length > 300 ? open : withNote(open, `Names that match ${patterns}.`);
}
