/**
 * Requests of a stateless session beside the lane: each with the envelope, a limit and a name of its own (the transport
 * turns names into wire ids). Knows nothing of what it asks.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { BulkheadError } from '../errors.js';
import type { WireTransport } from './transport.js';

/** The server's own error to a request. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

type Settle = (end: { ok: Record<string, unknown> } | { error: Error }) => void;

export class RequestPort {
  readonly #transport: WireTransport;
  readonly #meta: Record<string, unknown>;
  readonly #told: (method: string, params: Record<string, unknown>) => void;
  readonly #open = new Map<string, Settle>();
  #last = 0;

  constructor(
    transport: WireTransport,
    meta: Record<string, unknown>,
    told: (method: string, params: Record<string, unknown>) => void,
  ) {
    this.#transport = transport;
    this.#meta = meta;
    this.#told = told;
  }

  async start(): Promise<void> {
    this.#transport.onmessage = (message: JSONRPCMessage) => this.#heard(message);
    this.#transport.onclose = () => {
      for (const settle of [...this.#open.values()]) settle({ error: closed() });
    };
    await this.#transport.start();
  }

  /** @throws {Refusal} the server's error. @throws {BulkheadError} `START_TIMEOUT`, `START_FAILED` (kind `closed`). */
  send(method: string, params: Record<string, unknown>, timeoutMs: number): Promise<Record<string, unknown>> {
    const id = `ask:${++this.#last}`;
    const answer = this.#request(id, method, params);
    const timer = setTimeout(() => {
      const message = `no answer to ${method} within ${Math.round(timeoutMs)} ms`;
      const data = { kind: 'start-timeout', step: method };
      this.#open.get(id)?.({ error: new BulkheadError('START_TIMEOUT', message, { data }) });
      this.#cancel(id);
    }, timeoutMs);
    return answer.finally(() => clearTimeout(timer));
  }

  /** Resolves when the server ends the stream; after an abort it never settles. */
  listen(notifications: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>> {
    const id = `listen:${++this.#last}`;
    signal.addEventListener(
      'abort',
      () => {
        if (this.#open.delete(id)) this.#cancel(id);
      },
      { once: true },
    );
    return this.#request(id, 'subscriptions/listen', { notifications });
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  #request(id: string, method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const settle: Settle = (end) => {
        if (!this.#open.delete(id)) return;
        if ('ok' in end) resolve(end.ok);
        else reject(end.error);
      };
      this.#open.set(id, settle);
      this.#transport
        .send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: this.#meta } })
        .catch((error: unknown) =>
          settle({ error: error instanceof Error ? error : new Error(String(error)) }),
        );
    });
  }

  #cancel(requestId: string): void {
    void this.#transport
      .send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
      .catch(() => {});
  }

  #heard(message: JSONRPCMessage): void {
    if ('method' in message) {
      const params = (message.params ?? {}) as Record<string, unknown>;
      if ('id' in message) this.#answer(message.id, message.method);
      else if (message.method === 'notifications/cancelled') {
        this.#open.get(String(params.requestId))?.({ ok: {} }); // the server takes a stream back
      } else this.#told(message.method, params);
      return;
    }
    const settle = this.#open.get(String(message.id));
    if ('result' in message) settle?.({ ok: message.result });
    else if ('error' in message) settle?.({ error: new Refusal(message.error.code, message.error.message) });
  }

  /** The era has no requests of a server; one that sends them all the same must not wait in vain. */
  #answer(id: number | string, method: string): void {
    const error = { code: -32601, message: `this client does not offer ${method}` };
    const reply = method === 'ping' ? { result: {} } : { error };
    void this.#transport.send({ jsonrpc: '2.0', id, ...reply }).catch(() => {});
  }
}

function closed(): BulkheadError {
  return new BulkheadError('START_FAILED', 'the connection ended before the server answered', {
    data: { kind: 'closed' },
  });
}
