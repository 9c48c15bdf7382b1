/**
 * Whose message is it? Routes what came from the server by its id (the lane's calls first, the SDK's requests
 * otherwise) and maps ids and progress tokens in both directions. Every transport owns one; it knows nothing of bytes.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { type Incoming, parseLarge, sniffId } from './envelope.js';
import type { LaneSink } from './transport.js';
import { WireIds } from './wire-ids.js';

/** Nesting above this is refused before parsing: cloning or serialising it would overflow the stack. */
export const MAX_DEPTH = 1_000;
/** For answers to the SDK, whose tools are then judged one by one: parsing goes deep without harm, recursion does not. */
const LIST_DEPTH = 100_000;

export interface RouterTarget {
  /** The lane of the moment, if one is connected. */
  lane(): LaneSink | undefined;
  /** A message for the SDK, with the SDK's own id. May throw. */
  deliver(message: Record<string, unknown>): void;
  warn(message: string): void;
}

/** A message of the SDK as it goes over the wire. */
export interface Outgoing {
  message: Record<string, unknown>;
  /** Set for a request: the answer names it. */
  wireId?: number;
  /** Set for a cancellation: the request that nobody waits for any more. */
  cancels?: number;
}

export class Router {
  readonly #target: RouterTarget;
  readonly #ids = new WireIds();
  #initializeId: number | string | undefined;

  constructor(target: RouterTarget) {
    this.#target = target;
  }

  claimId(): number {
    return this.#ids.claimForLane();
  }

  releaseId(wireId: number): void {
    this.#ids.releaseLane(wireId);
  }

  /** How deep a message may nest now. */
  get maxDepth(): number {
    return this.#ids.sdkPending ? LIST_DEPTH : MAX_DEPTH;
  }

  /** Whether somebody still waits for the answer to this id. */
  pending(wireId: number): boolean {
    return this.#ids.isLane(wireId) || this.#ids.sdkOf(wireId) !== undefined;
  }

  /**
   * A message of the SDK with wire ids instead of its own. Undefined when it must not be sent: a cancellation of
   * `initialize`, or of a request that was answered meanwhile.
   */
  outgoing(message: JSONRPCMessage): Outgoing | undefined {
    if ('method' in message && 'id' in message) {
      const wire = this.#ids.claimForSdk(message.id);
      if (message.method === 'initialize') this.#initializeId = message.id;
      const meta = message.params?._meta;
      const params =
        meta?.progressToken === undefined
          ? message.params
          : { ...message.params, _meta: { ...meta, progressToken: wire } };
      return { message: { ...message, id: wire, ...(params === undefined ? {} : { params }) }, wireId: wire };
    }
    if ('method' in message && message.method === 'notifications/cancelled') {
      const sdkId = message.params?.requestId as number | string;
      if (sdkId === this.#initializeId) return undefined;
      const wire = this.#ids.wireOf(sdkId);
      if (wire === undefined) return undefined;
      const params = { requestId: wire, reason: 'The client no longer waits for this request.' };
      return { message: { ...message, params }, cancels: wire };
    }
    return { message: { ...message } };
  }

  route(message: Incoming): void {
    switch (message.kind) {
      case 'response': {
        if (this.#ids.isLane(message.id)) {
          this.#target.lane()?.onResponse(message.id, message);
          return;
        }
        const sdkId = this.#ids.takeSdk(message.id);
        if (sdkId === undefined) return; // late, duplicate or unknown: dropped
        const value = sdkId === this.#initializeId ? tolerantInitialize(message.value) : message.value;
        this.#target.deliver({ ...value, id: sdkId });
        return;
      }
      case 'large': {
        if (this.#ids.isLane(message.id)) {
          this.#target.lane()?.onLarge(message.id, message);
          return;
        }
        const value = parseLarge(message.bytes);
        const reason = `it has ${message.bytes.length} bytes and is no JSON or too much of it`;
        this.route(
          value === undefined
            ? { kind: 'invalid', id: message.id, reason }
            : { kind: 'response', id: message.id, text: '', bytes: message.bytes, value, coerced: false },
        );
        return;
      }
      case 'invalid': {
        if (message.id === null) return;
        if (this.#ids.isLane(message.id)) {
          this.#target.lane()?.onInvalid(message.id, message.reason);
          return;
        }
        // The SDK would only raise onerror and let the caller wait for its timeout.
        this.failSdk(message.id, -32600, `unusable answer: ${message.reason}`);
        return;
      }
      case 'notification':
        if (message.method === 'notifications/progress') this.#progress(message.value);
        else this.#target.deliver(this.#ids.restoreEnded(message.value));
        return;
      case 'request':
        this.#target.deliver(message.value);
        return;
      default:
        message satisfies never;
    }
  }

  /** A plain answer; false when it is not for the lane, or the lane must see more of it. */
  plain(wireId: number, result: string, isError: boolean): boolean {
    return this.#ids.isLane(wireId) && this.#target.lane()?.onPlain(wireId, result, isError) === true;
  }

  /** A message above the limit, of which only the head was kept: tells its caller, if the head names one. */
  oversize(prefix: Buffer, bytes: number): void {
    const id = sniffId(prefix);
    if (id !== undefined && this.#ids.isLane(id)) {
      this.#target.lane()?.onOversize(id, bytes);
      return;
    }
    if (id !== undefined && this.failSdk(id, -32600, `answer of ${bytes} bytes is above maxMessageBytes`))
      return;
    this.#target.warn(
      `skipped a message of ${bytes} bytes, above maxMessageBytes, that names no pending call`,
    );
  }

  /** A request whose end was told in another way. */
  forgetSdk(wireId: number): void {
    this.#ids.takeSdk(wireId);
  }

  /** Answers a request of the SDK with an error; false when it is not one of its pending ids. */
  failSdk(wireId: number, code: number, message: string): boolean {
    const sdkId = this.#ids.takeSdk(wireId);
    if (sdkId === undefined) return false;
    this.#target.deliver({ jsonrpc: '2.0', id: sdkId, error: { code, message } });
    return true;
  }

  #progress(value: Record<string, unknown>): void {
    const params = value.params as Record<string, unknown> | undefined;
    const token = Number(params?.progressToken);
    if (params === undefined || !Number.isInteger(token)) return;
    if (this.#ids.isLane(token)) {
      this.#target.lane()?.onProgress(token, params);
      return;
    }
    const sdkId = this.#ids.sdkOf(token);
    if (sdkId !== undefined) this.#target.deliver({ ...value, params: { ...params, progressToken: sdkId } });
  }
}

/** `initialize` answers that the SDK refuses over trifles: null or missing members get their defaults. */
function tolerantInitialize(value: Record<string, unknown>): Record<string, unknown> {
  const result = value.result;
  if (typeof result !== 'object' || result === null) return value;
  const fields = new Map(Object.entries(result).filter(([, field]) => field !== null));
  const info = (fields.get('serverInfo') ?? {}) as Record<string, unknown>;
  fields.set('serverInfo', { ...info, name: info.name ?? 'unnamed', version: info.version ?? '0' });
  fields.set('capabilities', fields.get('capabilities') ?? {});
  return { ...value, result: Object.fromEntries(fields) };
}
