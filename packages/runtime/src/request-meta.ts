/** The `_meta` of a request as a caller may fill it: what the protocol keeps for itself stays out. Pure. */

type Meta = Readonly<Record<string, unknown>>;

/** Names of MCP's own, which the session writes: one member cannot stand there twice. */
function reserved(name: string): boolean {
  return name === 'progressToken' || name.startsWith('io.modelcontextprotocol/');
}

/** The members as JSON text without braces; empty when nothing is left of them. */
export function metaText(meta: Meta | undefined): string {
  if (meta === undefined) return '';
  let text = '';
  for (const [name, value] of Object.entries(meta)) {
    const json = reserved(name) ? undefined : JSON.stringify(value);
    if (json !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${json}`;
  }
  return text;
}

/** Params of a request other than a call, with these members in their `_meta`. */
export function withMeta(params: Record<string, unknown>, members: string): Record<string, unknown> {
  if (members === '') return params;
  const own = params._meta;
  return { ...params, _meta: { ...(typeof own === 'object' ? own : {}), ...JSON.parse(`{${members}}`) } };
}
