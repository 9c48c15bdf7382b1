/**
 * What the server asks of the client (sampling, elicitation, roots): carried to an agent thread and back, bounded in
 * time and number, and told when the first one begins and the last one ends, so that deadlines stand still meanwhile.
 */
import { BulkheadError, decodeError } from '../errors.js';
import type { DataPort } from './data-port.js';

/** Questions open at once; a server that asks more is told to wait its turn by an error. */
const MAX_OPEN = 64;

interface Ask {
  port: DataPort;
  settle: (end: { ok: Record<string, unknown> } | { error: BulkheadError }) => void;
}

export class Asks {
  readonly #timeoutMs: number;
  readonly #edges: { first: () => void; last: () => void };
  readonly #open = new Map<number, Ask>();
  #lastId = 0;

  constructor(timeoutMs: number, edges: { first: () => void; last: () => void }) {
    this.#timeoutMs = timeoutMs;
    this.#edges = edges;
  }

  ask(
    port: DataPort | undefined,
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    if (port === undefined)
      return Promise.reject(new BulkheadError('INTERNAL', 'no agent is attached to answer'));
    if (this.#open.size >= MAX_OPEN) {
      return Promise.reject(
        new BulkheadError('INTERNAL', `more than ${MAX_OPEN} questions are open already`),
      );
    }
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const cancel = () => {
        port.tell({ type: 'ask-cancelled', id });
        settle({ error: new BulkheadError('CANCELLED', `the server no longer waits for ${method}`) });
      };
      const timer = setTimeout(() => {
        port.tell({ type: 'ask-cancelled', id });
        settle({
          error: new BulkheadError('TIMEOUT', `no answer to ${method} within ${this.#timeoutMs} ms`),
        });
      }, this.#timeoutMs);
      const settle: Ask['settle'] = (end) => {
        if (!this.#open.delete(id)) return;
        clearTimeout(timer);
        signal.removeEventListener('abort', cancel);
        if (this.#open.size === 0) this.#edges.last();
        if ('ok' in end) resolve(end.ok);
        else reject(end.error);
      };
      if (this.#open.size === 0) this.#edges.first();
      this.#open.set(id, { port, settle });
      signal.addEventListener('abort', cancel, { once: true });
      port.tell({ type: 'ask', id, method, params });
    });
  }

  answered(id: number, ok: boolean, text: string): void {
    const value = JSON.parse(text);
    this.#open.get(id)?.settle(ok ? { ok: value } : { error: decodeError(value) });
  }

  portClosed(port: DataPort): void {
    for (const ask of [...this.#open.values()]) {
      if (ask.port === port)
        ask.settle({ error: new BulkheadError('INTERNAL', 'the agent that was asked is gone') });
    }
  }
}
