/**
 * `initialize` with a second try: some servers refuse a version they do not know instead of offering theirs. The
 * refusal is not shown to the SDK; the same request goes out again with the best version that the server names, or,
 * when it names none, one step down. Lies between the SDK and any transport.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js';
import { mutualModern, versionsIn } from './era-probe.js';

/** Asked for when a server refuses the newest version and names no other. */
const STEP_DOWN = '2025-06-18';
const REFUSALS: ReadonlySet<number> = new Set([-32602, -32022]);

export class VersionLadder implements Transport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport['onmessage'];
  readonly #inner: Transport;
  #initialize: JSONRPCRequest | undefined;
  #modernOnly: string | undefined;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  /** Set when the server refused `initialize` as such: it speaks this version of the later era. */
  get modernOnly(): string | undefined {
    return this.#modernOnly;
  }

  async start(): Promise<void> {
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message, extra) => {
      if (!this.#retried(message)) this.onmessage?.(message, extra);
    };
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: Parameters<Transport['send']>[1]): Promise<void> {
    if ('method' in message && 'id' in message && message.method === 'initialize') this.#initialize = message;
    await this.#inner.send(message, options);
  }

  /** A refusal in favour of the later era leaves the connection to the session of that era. */
  async close(): Promise<void> {
    if (this.#modernOnly === undefined) await this.#inner.close();
    else this.onclose?.();
  }

  setProtocolVersion = (version: string): void => this.#inner.setProtocolVersion?.(version);

  /** True when the message was a refusal and the request went out once more. */
  #retried(message: JSONRPCMessage): boolean {
    const asked = this.#initialize;
    if (asked === undefined || 'method' in message || message.id !== asked.id) return false;
    this.#initialize = undefined; // its answer, one way or the other; and only one second try
    if (!('error' in message)) return false;
    const { code, message: text, data } = message.error;
    const named = versionsIn(data);
    const about = REFUSALS.has(code) && (named.length > 0 || /version/i.test(text));
    if (!about) return false;
    const legacy = SUPPORTED_PROTOCOL_VERSIONS.find((version) => named.includes(version));
    this.#modernOnly = legacy === undefined ? mutualModern(named) : undefined;
    const next = legacy ?? (named.length === 0 ? STEP_DOWN : undefined);
    if (next === undefined || next === asked.params?.protocolVersion) return false;
    const again = { ...asked, params: { ...asked.params, protocolVersion: next } };
    void this.#inner.send(again).catch((error: unknown) => {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    });
    return true;
  }
}
