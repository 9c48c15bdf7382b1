/**
 * What a request of the stateless era says in its headers, so that gateways can route it without reading the body: its
 * version, method and name, and those arguments that the tool's schema marks with `x-mcp-header`. Pure.
 */

/** Arguments of one tool that are mirrored: where they stand, and the header's name after `Mcp-Param-`. */
export type MirroredParams = readonly { path: readonly string[]; header: string }[];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PRIMITIVE: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const VERSION = 'io.modelcontextprotocol/protocolVersion';
/** Which member of `params` is the name. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** The marks of a tool's input schema; one that is not allowed makes the whole tool unusable over HTTP. */
export function mirroredParams(
  inputSchema: Record<string, unknown>,
): { params: MirroredParams } | { problem: string } {
  const params: { path: string[]; header: string }[] = [];
  const taken = new Set<string>();
  const walk = (schema: Record<string, unknown>, path: string[]): string | undefined => {
    for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
      if (!isObject(property)) continue;
      const here = [...path, name];
      const header = property['x-mcp-header'];
      if (header !== undefined) {
        const where = `"x-mcp-header" of "${here.join('.')}"`;
        if (typeof header !== 'string' || !TOKEN.test(header)) return `${where} is not the name of a header`;
        if (!PRIMITIVE.has(property.type))
          return `${where} stands on a type other than string, integer, boolean`;
        if (taken.has(header.toLowerCase())) return `${where} is used twice`;
        taken.add(header.toLowerCase());
        params.push({ path: here, header });
      }
      const problem = walk(property, here);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  const problem = walk(inputSchema, []);
  return problem === undefined ? { params } : { problem };
}

/** Headers for one message. @param text the JSON text that is sent; the headers must agree with it. */
export function requestHeaders(
  text: string,
  mirrored: ReadonlyMap<string, MirroredParams>,
): [string, string][] {
  const { method, params = {} } = JSON.parse(text) as { method?: string; params?: Record<string, unknown> };
  const headers: [string, string][] = [];
  const version = isObject(params._meta) ? params._meta[VERSION] : undefined;
  if (typeof version === 'string') headers.push(['mcp-protocol-version', version]);
  if (method === undefined) return headers;
  headers.push(['mcp-method', encoded(method)]);
  const name = params[NAMED_BY.get(method) ?? ''];
  if (typeof name !== 'string') return headers;
  headers.push(['mcp-name', encoded(name)]);
  if (method !== 'tools/call') return headers;
  for (const { path, header } of mirrored.get(name) ?? []) {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), params.arguments);
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      headers.push([`mcp-param-${header.toLowerCase()}`, encoded(String(value))]);
  }
  return headers;
}

/** What a header cannot hold as it is travels as Base64, and so does what would be taken for that. */
function encoded(value: string): string {
  const plain = /^[\x20-\x7e]*$/.test(value) && value.trim() === value && !/^=\?base64\?.*\?=$/i.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
