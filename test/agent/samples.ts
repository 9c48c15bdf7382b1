/**
 * Arguments that fit a schema, more or less: with all properties, with the required ones, or with the last of every
 * choice. What does not fit is sorted out by whoever asks.
 */
type Json = Record<string, unknown>;
export type Style = 'all' | 'required' | 'last';

const MAX_DEPTH = 12;

export function sampleOf(root: Json, style: Style): unknown {
  return sample(root, root, style, 0);
}

function sample(schema: unknown, root: Json, style: Style, depth: number): unknown {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return 'x';
  const node = schema as Json;
  const pick = <T>(list: readonly T[]): T | undefined => (style === 'last' ? list.at(-1) : list[0]);
  if (typeof node.$ref === 'string') return sample(target(node.$ref, root), root, style, depth + 1);
  if ('const' in node) return node.const;
  if (Array.isArray(node.enum)) return pick(node.enum);
  for (const key of ['anyOf', 'oneOf']) {
    const parts = node[key];
    if (Array.isArray(parts) && node.properties === undefined)
      return sample(pick(parts), root, style, depth + 1);
  }
  if (Array.isArray(node.allOf)) {
    const parts = node.allOf.map((part) => sample(part, root, style, depth + 1));
    const objects = parts.filter((part) => typeof part === 'object');
    return objects.length > 0 ? Object.assign({}, ...objects, objectOf(node, root, style, depth)) : parts[0];
  }
  const types = [node.type].flat();
  switch (style === 'last' ? types.at(-1) : types[0]) {
    case 'object':
      return objectOf(node, root, style, depth);
    case 'array':
      return arrayOf(node, root, style, depth);
    case 'number':
    case 'integer':
      return Number(
        node.minimum ?? (typeof node.exclusiveMinimum === 'number' ? node.exclusiveMinimum + 1 : 1),
      );
    case 'boolean':
      return style !== 'last';
    case 'null':
      return null;
    case 'string':
      return 'x'.repeat(Math.max(1, Number(node.minLength ?? 1)));
    default:
      return node.properties === undefined ? 'x' : objectOf(node, root, style, depth);
  }
}

function objectOf(node: Json, root: Json, style: Style, depth: number): Json {
  const required = Array.isArray(node.required) ? node.required : [];
  const entries = Object.entries((node.properties ?? {}) as Json).filter(
    ([name]) => style !== 'required' || required.includes(name),
  );
  const made = entries.map(([name, part]) => [name, sample(part, root, style, depth + 1)] as const);
  const open = node.additionalProperties !== false && style === 'all';
  const extra =
    typeof node.additionalProperties === 'object'
      ? sample(node.additionalProperties, root, style, depth + 1)
      : 'x';
  return { ...Object.fromEntries(made), ...(open && { undeclared: extra }) };
}

function arrayOf(node: Json, root: Json, style: Style, depth: number): unknown[] {
  const places = [node.prefixItems, node.items].find(Array.isArray) as unknown[] | undefined;
  if (places !== undefined) return places.map((place) => sample(place, root, style, depth + 1));
  const length = Math.max(style === 'required' ? 0 : 1, Number(node.minItems ?? 0));
  return Array.from({ length }, () => sample(node.items, root, style, depth + 1));
}

function target(ref: string, root: Json): unknown {
  let at: unknown = root;
  for (const token of ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== ''))
    at = (at as Json | undefined)?.[token];
  return at;
}
