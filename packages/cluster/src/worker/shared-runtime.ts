/**
 * One runtime under many batches at once: each of them listens to its events, and here they share one listener of the
 * runtime's own, and its status, which each asks for twice.
 */
import { EventEmitter } from 'node:events';
import type { BatchRuntime, BatchServer, RuntimeEvents } from '@bulkhead/runtime';

type Shared = 'state' | 'tools';

/** A batch tells from it how often servers restarted, which nobody reads here. */
const STATUS_AGE_MS = 1_000;

export class SharedRuntime implements BatchRuntime {
  readonly #runtime: BatchRuntime;
  #status: ReturnType<BatchRuntime['status']> | undefined;
  #statusAt = 0;
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #state = (...args: RuntimeEvents['state']): void => void this.#events.emit('state', ...args);
  readonly #tools = (...args: RuntimeEvents['tools']): void => void this.#events.emit('tools', ...args);

  constructor(runtime: BatchRuntime) {
    this.#runtime = runtime;
    runtime.on('state', this.#state);
    runtime.on('tools', this.#tools);
  }

  /** Lets go of the runtime, which lives on. */
  close(): void {
    this.#runtime.off('state', this.#state);
    this.#runtime.off('tools', this.#tools);
  }

  servers(): readonly BatchServer[] {
    return this.#runtime.servers();
  }

  ready(...args: Parameters<BatchRuntime['ready']>): ReturnType<BatchRuntime['ready']> {
    return this.#runtime.ready(...args);
  }

  tools(...args: Parameters<BatchRuntime['tools']>): ReturnType<BatchRuntime['tools']> {
    return this.#runtime.tools(...args);
  }

  status(): ReturnType<BatchRuntime['status']> {
    const now = performance.now();
    if (this.#status === undefined || now - this.#statusAt > STATUS_AGE_MS) {
      this.#statusAt = now;
      this.#status = this.#runtime.status();
    }
    return this.#status;
  }

  on<K extends Shared>(event: K, listener: (...args: RuntimeEvents[K]) => void): unknown {
    return this.#events.on(event, listener as (...args: unknown[]) => void);
  }

  off<K extends Shared>(event: K, listener: (...args: RuntimeEvents[K]) => void): unknown {
    return this.#events.off(event, listener as (...args: unknown[]) => void);
  }
}
