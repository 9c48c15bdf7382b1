/** The arguments of a tool, read from its input schema for a person. Schemas are foreign: nothing in them is relied on. Pure. */

type Schema = Record<string, unknown>;

const MAX_ALTERNATIVES = 8;
const MAX_DEPTH = 4;

/** Name, type, `required` or default, description; required ones first, else in the schema's order. */
export function parameterRows(schema: Schema): [string, string, string, string][] {
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  const rows = properties.map(([name, value]): [string, string, string, string] => {
    const property = isSchema(value) ? value : {};
    const { description } = property;
    const preset = Object.hasOwn(property, 'default') ? `default ${JSON.stringify(property.default)}` : '';
    return [
      name,
      typeOf(property, schema, 0),
      required.includes(name) ? 'required' : preset,
      typeof description === 'string' ? description.trim() : '',
    ];
  });
  return [
    ...rows.filter(([name]) => required.includes(name)),
    ...rows.filter(([name]) => !required.includes(name)),
  ];
}

function typeOf(written: Schema, root: Schema, depth: number): string {
  const schema = resolved(written, root);
  if (depth > MAX_DEPTH) return 'any';
  if (Array.isArray(schema.enum)) return listed(schema.enum.map((value) => JSON.stringify(value)));
  if (Object.hasOwn(schema, 'const')) return JSON.stringify(schema.const) ?? 'any';
  const parts = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (parts !== undefined) {
    return listed([...new Set(parts.filter(isSchema).map((part) => typeOf(part, root, depth + 1)))]);
  }
  const { type, items } = schema;
  if (Array.isArray(type)) return listed(type.map(String));
  if (type === 'array' && isSchema(items)) return `${typeOf(items, root, depth + 1)}[]`;
  return typeof type === 'string' ? type : 'any';
}

function listed(parts: readonly string[]): string {
  const more = parts.length > MAX_ALTERNATIVES ? '|…' : '';
  return `${parts.slice(0, MAX_ALTERNATIVES).join('|')}${more}`;
}

/** One step into the same document is what generated schemas need. */
function resolved(schema: Schema, root: Schema): Schema {
  const { $ref } = schema;
  if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return schema;
  const found = $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, step) => (isSchema(at) && Object.hasOwn(at, step) ? at[step] : undefined), root);
  return isSchema(found) ? found : schema;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
