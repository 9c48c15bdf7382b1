/**
 * Makes one schema of several: all of them at once (`allOf`), or one object that has room for each of some alternatives
 * (`anyOf`, `oneOf`), because providers refuse these keywords at the root. What a merged object can no longer say goes
 * into its description. Nothing that a server would accept is forbidden. Pure.
 */
import { isRecord } from '../../content.js';
import { distinct } from './schema-keywords.js';
import { withNote } from './schema-reader.js';
import type { SchemaNode } from './schema-rules.js';

/** Alternatives that are told in a description. */
const MAX_TOLD = 12;
/** Of one note about alternatives. */
const MAX_NOTE_CHARS = 600;

export const partsOf = (value: unknown): SchemaNode[] => (Array.isArray(value) ? value : []);
export const propertiesOf = (node: SchemaNode): Record<string, SchemaNode> =>
  isRecord(node.properties) ? (node.properties as Record<string, SchemaNode>) : {};
export const requiredOf = (node: SchemaNode): string[] => (Array.isArray(node.required) ? node.required : []);

/** A property by its name; names such as `constructor` are no exception. */
export function propertyOf(node: SchemaNode, name: string): SchemaNode | undefined {
  const properties = propertiesOf(node);
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** The types a schema names; undefined when it takes any. */
export function typesOf(node: SchemaNode): string[] | undefined {
  if (typeof node.type === 'string') return [node.type];
  return Array.isArray(node.type) ? node.type : undefined;
}

/** A schema that no value meets: what `false` was. */
export function isImpossible(node: SchemaNode): boolean {
  return isRecord(node.not) && Object.keys(node.not).length === 0;
}

/** The schema without `allOf`, at this level. */
export function withoutAllOf(node: SchemaNode): SchemaNode {
  if (!Array.isArray(node.allOf)) return node;
  const { allOf, ...own } = node;
  return partsOf(allOf).map(withoutAllOf).reduce(both, own);
}

/**
 * The schema as one object: its own properties and those of every alternative, none of which is required unless all
 * require it.
 */
export function asOneObject(node: SchemaNode): SchemaNode {
  const { allOf, anyOf, oneOf, ...own } = node;
  const { discriminator, ...plain } = own;
  let merged: SchemaNode = plain;
  for (const part of partsOf(allOf)) merged = both(merged, asOneObject(part));
  for (const union of [anyOf, oneOf]) {
    if (!Array.isArray(union)) continue;
    const branches = partsOf(union)
      .map(asOneObject)
      .filter((branch) => !isImpossible(branch) && (typesOf(branch)?.includes('object') ?? true));
    if (branches.length > 0) merged = withBranches(merged, branches);
  }
  if (typeof discriminator === 'string')
    merged = withNote(merged, `"${discriminator}" tells the forms apart.`);
  return merged;
}

function withBranches(own: SchemaNode, branches: readonly SchemaNode[]): SchemaNode {
  const names = [...new Set(branches.flatMap((branch) => Object.keys(propertiesOf(branch))))];
  const added = names.map((name) => {
    const schemas = branches.map((branch) => propertyOf(branch, name)).filter((part) => part !== undefined);
    return [name, either(schemas)] as const;
  });
  const required = requiredOf(branches[0] ?? {}).filter((name) =>
    branches.every((branch) => requiredOf(branch).includes(name)),
  );
  const union: SchemaNode = {
    ...(added.length > 0 && { properties: Object.fromEntries(added) }),
    ...(required.length > 0 && { required }),
    ...(branches.every((branch) => branch.additionalProperties === false) && { additionalProperties: false }),
  };
  const told = alternatives(branches);
  const merged = both(own, union);
  return told === undefined ? merged : withNote(merged, told);
}

/** One value of any of these shapes. */
function either(schemas: readonly SchemaNode[]): SchemaNode {
  const shapes = distinct(schemas) as SchemaNode[];
  const [first] = shapes;
  if (first === undefined || shapes.length === 1) return first ?? {};
  const values = shapes.map((shape) => ('const' in shape ? [shape.const] : shape.enum));
  if (values.every(Array.isArray)) {
    const { const: _, enum: __, description: ___, ...rest } = first;
    return { ...rest, enum: distinct(values.flat()) };
  }
  return { anyOf: shapes };
}

/** "One of: (kind "file") path, content; or (kind "url") url." */
function alternatives(branches: readonly SchemaNode[]): string | undefined {
  const forms = branches.map((branch) => {
    const fixed = Object.entries(propertiesOf(branch))
      .filter(([, schema]) => 'const' in schema)
      .map(([name, schema]) => `${name} ${JSON.stringify(schema.const)}`);
    const needs = requiredOf(branch).filter((name) => !('const' in (propertyOf(branch, name) ?? {})));
    const title = typeof branch.title === 'string' ? `${branch.title}: ` : '';
    return `${title}${[...fixed, ...needs].join(', ')}`;
  });
  const said = distinct(forms.filter((form) => form !== '')) as string[];
  if (said.length < 2) return undefined;
  const list = said.slice(0, MAX_TOLD).join('; or ');
  const cut = list.length > MAX_NOTE_CHARS ? `${[...list].slice(0, MAX_NOTE_CHARS).join('')}…` : list;
  return `Give one of: ${cut}.`;
}

/** One schema for what meets both; where they disagree about something that only guides, the first one counts. */
export function both(first: SchemaNode, second: SchemaNode): SchemaNode {
  const merged: SchemaNode = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const known = merged[key];
    if (known === undefined) merged[key] = value;
    else merged[key] = joined(key, known, value);
  }
  // Each part closes itself against the other's properties; their author meant neither.
  if (isRecord(first.properties) !== isRecord(second.properties)) return merged;
  if (first.additionalProperties !== second.additionalProperties) delete merged.additionalProperties;
  return merged;
}

function joined(key: string, first: unknown, second: unknown): unknown {
  switch (key) {
    case 'properties':
    case 'patternProperties':
      return joinedProperties(first as Record<string, SchemaNode>, second as Record<string, SchemaNode>);
    case 'required':
      return [...new Set([...(first as string[]), ...(second as string[])])];
    case 'type':
      return joinedTypes([first].flat() as string[], [second].flat() as string[]);
    case 'enum': {
      const texts = new Set((second as unknown[]).map((value) => JSON.stringify(value)));
      const shared = (first as unknown[]).filter((value) => texts.has(JSON.stringify(value)));
      return shared.length > 0 ? shared : first;
    }
    case 'minimum':
    case 'exclusiveMinimum':
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return Math.max(Number(first), Number(second));
    case 'maximum':
    case 'exclusiveMaximum':
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return Math.min(Number(first), Number(second));
    case 'items':
      return both(first as SchemaNode, second as SchemaNode);
    case 'allOf':
      return [...partsOf(first), ...partsOf(second)];
    default:
      return first;
  }
}

function joinedProperties(
  first: Record<string, SchemaNode>,
  second: Record<string, SchemaNode>,
): Record<string, SchemaNode> {
  const merged = new Map(Object.entries(first));
  for (const [name, schema] of Object.entries(second)) {
    const known = merged.get(name);
    merged.set(name, known === undefined ? schema : both(known, schema));
  }
  return Object.fromEntries(merged);
}

/** Integers are numbers, so the narrower one counts. */
function joinedTypes(first: string[], second: string[]): string | string[] {
  const has = (types: string[], type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  const shared = [
    ...new Set([...first.filter((type) => has(second, type)), ...second.filter((type) => has(first, type))]),
  ];
  const types = shared.length > 0 ? shared : first;
  return types.length === 1 && types[0] !== undefined ? types[0] : types;
}
