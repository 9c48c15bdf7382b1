/** What an agent hears: its listeners, the warnings that came before anybody could listen, and the one who observes all. */
import { EventEmitter } from 'node:events';
import type { ServerEvent } from '@bulkhead/workers';
import type { RuntimeEvents } from './api.js';

/** Warnings kept for the first listener. */
const EARLY_WARNINGS = 100;

/** Told of every event as it happens; no listener, so early warnings wait for one all the same. */
export type EventObserver = (name: keyof RuntimeEvents, event: RuntimeEvents[keyof RuntimeEvents][0]) => void;

type Listener<K extends keyof RuntimeEvents> = (...args: RuntimeEvents[K]) => void;

export class RuntimeListeners {
  readonly #emitter = new EventEmitter<{ [K in keyof RuntimeEvents]: RuntimeEvents[K] }>();
  readonly #earlyWarnings: RuntimeEvents['warning'][0][] = [];
  #observer: EventObserver | undefined;

  observe(observer: EventObserver): void {
    this.#observer = observer;
  }

  on<K extends keyof RuntimeEvents>(event: K, listener: Listener<K>): void {
    this.#emitter.on(event, listener as never);
    if (event !== 'warning' || this.#earlyWarnings.length === 0) return;
    queueMicrotask(() => {
      for (const warning of this.#earlyWarnings.splice(0)) this.#heard(warning);
    });
  }

  off<K extends keyof RuntimeEvents>(event: K, listener: Listener<K>): void {
    this.#emitter.off(event, listener as never);
  }

  emit<K extends keyof RuntimeEvents>(event: K, ...args: RuntimeEvents[K]): void {
    this.#observer?.(event, args[0]);
    this.#emitter.emit(event, ...(args as never));
  }

  /** The first warnings come before anybody can listen: they are kept for the first listener. */
  warn(warning: RuntimeEvents['warning'][0]): void {
    this.#observer?.('warning', warning);
    this.#heard(warning);
  }

  #heard(warning: RuntimeEvents['warning'][0]): void {
    if (this.#emitter.listenerCount('warning') > 0) this.#emitter.emit('warning', warning);
    else if (this.#earlyWarnings.length < EARLY_WARNINGS) this.#earlyWarnings.push(warning);
  }

  /** What a server told unasked. A replaced session is no event: it is for whoever keeps wishes of it. */
  told(server: string, { name, params }: ServerEvent): void {
    switch (name) {
      case 'log': {
        const { level, logger, data } = params;
        const source = typeof logger === 'string' ? { logger } : {};
        this.emit('log', { server, level: String(level), ...source, data });
        return;
      }
      case 'resource':
        this.emit('resource', { server, uri: String(params.uri) });
        return;
      case 'resources':
      case 'prompts':
        this.emit(name, { server });
        return;
      case 'renewed':
        return;
      default:
        name satisfies never;
    }
  }

  clear(): void {
    this.#emitter.removeAllListeners();
  }
}
