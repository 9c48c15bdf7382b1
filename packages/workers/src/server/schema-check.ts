/**
 * Whether a tool's schema could be used at all, without running a validator: it is remote input, so the walk is
 * iterative and bounded. A schema that a model API would refuse quarantines its tool, never the whole list. Pure.
 */

const MAX_NODES = 20_000;

/** Keywords whose value is one schema … */
const ONE: ReadonlySet<string> = new Set([
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
/** … a list of schemas … */
const LIST: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
/** … or schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

interface Place {
  schema: unknown;
  path: string;
}

/** Why a schema is unusable, with the place; undefined when it looks sound. Booleans are schemas at any position. */
export function schemaProblem(schema: unknown): string | undefined {
  const open: Place[] = [{ schema, path: '' }];
  for (let nodes = 0; ; nodes++) {
    const place = open.pop();
    if (place === undefined) return undefined;
    if (nodes >= MAX_NODES) return `it has more than ${MAX_NODES} parts`;
    const { path } = place;
    const at = path === '' ? 'the schema' : path;
    if (typeof place.schema === 'boolean') continue;
    if (!isObject(place.schema)) return `${at} is ${kindOf(place.schema)} where a schema is expected`;
    for (const [key, value] of Object.entries(place.schema)) {
      const own = `${path}/${key}`;
      const problem = keywordProblem(key, value, own);
      if (problem !== undefined) return problem;
      const add = (part: unknown, name: string) => open.push({ schema: part, path: `${own}${name}` });
      if (ONE.has(key)) {
        // Older drafts have a list of schemas here.
        if (key === 'items' && Array.isArray(value))
          for (const [i, part] of value.entries()) add(part, `/${i}`);
        else add(value, '');
      } else if (LIST.has(key)) {
        if (!Array.isArray(value)) return `${own} is ${kindOf(value)}, not a list of schemas`;
        for (const [i, part] of value.entries()) add(part, `/${i}`);
      } else if (NAMED.has(key)) {
        if (!isObject(value)) return `${own} is ${kindOf(value)}, not an object of schemas`;
        for (const [name, part] of Object.entries(value)) add(part, `/${name}`);
      }
    }
  }
}

/** Whether a value nests deeper than `maxDepth`: what does overflows the stack of whoever walks or writes it by recursion. */
export function nestsDeeper(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    level = level.flatMap((part) => (typeof part === 'object' && part !== null ? Object.values(part) : []));
  }
  return false;
}

function keywordProblem(key: string, value: unknown, at: string): string | undefined {
  switch (key) {
    case 'required':
      // Draft 3 had a boolean here; hosts ignore it.
      if (typeof value === 'boolean') return undefined;
      return Array.isArray(value) && value.every((name) => typeof name === 'string')
        ? undefined
        : `${at} is not a list of names`;
    case 'enum':
      return Array.isArray(value) && value.length > 0
        ? undefined
        : `${at} is no list of values, or an empty one`;
    case 'pattern':
      return typeof value === 'string' && isPattern(value) ? undefined : `${at} is no regular expression`;
    case '$ref':
      return typeof value === 'string' ? undefined : `${at} is not a reference`;
    default:
      return undefined;
  }
}

function isPattern(text: string): boolean {
  for (const flags of ['u', '']) {
    try {
      new RegExp(text, flags);
      return true;
    } catch {
      // patterns of other dialects are often valid without the `u` flag only
    }
  }
  return false;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
