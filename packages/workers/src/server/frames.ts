/**
 * Calls as the lines that servers read, one text per call and no object in between: arguments and `_meta` are JSON text
 * already. Pure, but for the names of tools that it remembers as JSON.
 */
import type { LaneCall } from './lane-call.js';

export class Frames {
  readonly #nameJson = new Map<string, string>();

  /** @param meta members of the stateless era's envelope, as JSON text; undefined in the older one */
  frame(call: LaneCall, meta: string | undefined): string {
    let name = this.#nameJson.get(call.tool);
    if (name === undefined) {
      name = JSON.stringify(call.tool);
      this.#nameJson.set(call.tool, name);
    }
    const id = call.wireId;
    if (meta !== undefined) return modernFrame(call, name, meta);
    if (call.method !== '') return `{"jsonrpc":"2.0","id":${id},"method":${name},"params":${call.args}}\n`;
    return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${name},"arguments":${call.args},"_meta":{"progressToken":${id}${call.meta}}}}\n`;
  }
}

function modernFrame(call: LaneCall, name: string, meta: string): string {
  const id = call.wireId;
  const envelope = `"_meta":{${meta},"progressToken":${id}${call.meta}}${call.answers}`;
  if (call.method === '') {
    return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${name},"arguments":${call.args},${envelope}}}\n`;
  }
  // A `_meta` of the caller's own is joined with the envelope, which counts: one member cannot stand there twice.
  if (call.args.includes('"_meta"')) {
    const { _meta, ...others } = JSON.parse(call.args);
    const merged = {
      ...(typeof _meta === 'object' ? _meta : {}),
      ...JSON.parse(`{${meta}}`),
      progressToken: id,
    };
    const rest = JSON.stringify({ ...others, _meta: merged }).slice(0, -1);
    return `{"jsonrpc":"2.0","id":${id},"method":${name},"params":${rest}${call.answers}}}\n`;
  }
  const own = call.args.slice(1).trimStart();
  const params = own === '}' ? `{${envelope}}` : `{${envelope},${own}`;
  return `{"jsonrpc":"2.0","id":${id},"method":${name},"params":${params}}\n`;
}
