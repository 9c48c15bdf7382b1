/**
 * Text from the command line to the JSON text of the type that the tool's schema asks for. A value changes its type
 * only when nothing is lost: `7` for an integer becomes 7, `007` stays a string and validation says so. Where the
 * schema allows a string, the text is that string. Pure.
 */

type Schema = Record<string, unknown>;

/** Integers of any length keep their digits, because the text itself goes out. */
const INTEGER = /^(0|-?[1-9]\d*)$/;
const MAX_DEPTH = 16;

/** JSON text for `text` as the value of `property`; `root` resolves its local references. */
export function coerce(text: string, property: unknown, root: unknown): string {
  const wanted = accepted(property, root, 0);
  for (const constant of wanted.constants) {
    if (typeof constant !== 'object' && String(constant) === text) return JSON.stringify(constant);
    if (constant === null && text === 'null') return 'null';
  }
  const { types } = wanted;
  if (types.has('string') || types.size === 0) return JSON.stringify(text);
  if ((types.has('integer') || types.has('number')) && INTEGER.test(text)) return text;
  if (types.has('number') && isNumber(text)) return text;
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text;
  if (types.has('null') && text === 'null') return text;
  if (types.has('array') || types.has('object')) {
    const trimmed = text.trim();
    const opens = (types.has('array') ? '[' : '') + (types.has('object') ? '{' : '');
    if (trimmed !== '' && opens.includes(trimmed.charAt(0)) && isJson(trimmed)) return trimmed;
  }
  return JSON.stringify(text);
}

/** Schema of one property of `schema`, looked for behind local references and in combined schemas. */
export function propertySchema(schema: unknown, name: string, root: unknown = schema, depth = 0): unknown {
  const own = resolve(schema, root);
  if (own === undefined || depth > MAX_DEPTH) return undefined;
  if (isObject(own.properties) && Object.hasOwn(own.properties, name)) return own.properties[name];
  for (const part of parts(own)) {
    const found = propertySchema(part, name, root, depth + 1);
    if (found !== undefined) return found;
  }
  return isObject(own.additionalProperties) ? own.additionalProperties : undefined;
}

function accepted(
  schema: unknown,
  root: unknown,
  depth: number,
): { types: Set<string>; constants: unknown[] } {
  const types = new Set<string>();
  const constants: unknown[] = [];
  const own = resolve(schema, root);
  if (own === undefined || depth > MAX_DEPTH) return { types, constants };
  for (const type of Array.isArray(own.type) ? own.type : [own.type])
    if (typeof type === 'string') types.add(type);
  if (Object.hasOwn(own, 'const')) constants.push(own.const);
  if (Array.isArray(own.enum)) constants.push(...own.enum);
  for (const part of parts(own)) {
    const inner = accepted(part, root, depth + 1);
    for (const type of inner.types) types.add(type);
    constants.push(...inner.constants);
  }
  return { types, constants };
}

function parts(schema: Schema): unknown[] {
  return [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []));
}

/** Follows references into the same document; others are left to validation. */
function resolve(schema: unknown, root: unknown): Schema | undefined {
  let found = schema;
  for (let hop = 0; hop < MAX_DEPTH; hop++) {
    if (!isObject(found)) return undefined;
    if (typeof found.$ref !== 'string') return found;
    if (!found.$ref.startsWith('#')) return undefined;
    found = found.$ref
      .slice(1)
      .split('/')
      .slice(1)
      .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((at, step) => (isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined), root);
  }
  return undefined;
}

function isNumber(text: string): boolean {
  const value = Number(text);
  return text !== '' && Number.isFinite(value) && String(value) === text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
