/**
 * A result that goes out as the text it came in: integers above 2^53 keep their digits and nothing is written anew.
 * The transports of this folder know it; any other would decode it.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { ToolResult } from '../api.js';

export class RawResult {
  /** One line of JSON. */
  readonly text: string;
  // The index signature of a result, for the SDK's types.
  [member: string]: unknown;

  constructor(text: string) {
    // A line break can stand between members only, where a blank is the same.
    this.text = text.replace(/[\r\n]+/g, ' ');
  }

  static async of(result: ToolResult): Promise<RawResult> {
    // The look at `raw` would block while a spilled result is read.
    const text =
      result.spilled === undefined ? result.raw : Buffer.from(await result.rawBytes()).toString('utf8');
    return new RawResult(text);
  }
}

/** The result of a message when it is one of these. */
export function rawResultOf(message: JSONRPCMessage): RawResult | undefined {
  return 'result' in message && message.result instanceof RawResult ? message.result : undefined;
}

/** A message as one line of JSON, without its end. */
export function messageText(message: JSONRPCMessage): string {
  const raw = rawResultOf(message);
  if (raw === undefined || !('id' in message)) return JSON.stringify(message);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${raw.text}}`;
}
