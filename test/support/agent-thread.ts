/** Agent threads of a test: each attaches to a runtime by a handle and runs functions that the test sends it. */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type AttachedRuntime, BulkheadError, type ErrorCode, type RuntimeHandle } from '@bulkhead/runtime';
import { afterEach } from 'vitest';
import { eventually } from './eventually.js';

const ENTRY = fileURLToPath(new URL('../fixtures/attached-agent.mjs', import.meta.url));

declare global {
  /** In an agent thread only. */
  var agentThread: { attachAgain(): Promise<AttachedRuntime>; letGo(): void };
}

export interface SeenEvent {
  name: 'state' | 'tools' | 'log' | 'supervisor-lost';
  server?: string;
  state?: string;
  generation?: number;
  reason?: { message: string };
  [more: string]: unknown;
}

interface Answer {
  id: number;
  value?: unknown;
  error?: { code?: ErrorCode; message: string; data?: Record<string, unknown>; stack: string };
}

export class AgentThread {
  readonly worker: Worker;
  /** Events of the attached runtime, in order. */
  readonly events: SeenEvent[] = [];
  readonly exited: Promise<void>;
  readonly #open = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  constructor(worker: Worker) {
    this.worker = worker;
    this.exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (message: Answer | { event: SeenEvent }) => {
      if ('event' in message) this.events.push(message.event);
      else this.#answered(message);
    });
    worker.once('exit', () => {
      for (const { reject } of this.#open.values()) reject(new Error('the agent thread ended'));
      this.#open.clear();
    });
  }

  /** Runs `work` in the thread. It must stand alone: nothing around it is there. */
  run<A extends unknown[], R>(
    work: (runtime: AttachedRuntime, ...args: A) => R | Promise<R>,
    ...args: A
  ): Promise<R> {
    const id = ++this.#lastId;
    return new Promise<R>((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      this.worker.postMessage({ id, task: work.toString(), args });
    });
  }

  /** Waits for an event that has come or will. */
  saw(name: SeenEvent['name'], members: Partial<SeenEvent>): Promise<SeenEvent> {
    const wanted = Object.entries({ name, ...members });
    return eventually(
      () => this.events.find((event) => wanted.every(([key, value]) => event[key] === value)),
      () => `${JSON.stringify({ name, ...members })} among ${JSON.stringify(this.events)}`,
    );
  }

  #answered({ id, value, error }: Answer): void {
    const task = this.#open.get(id);
    this.#open.delete(id);
    if (error === undefined) task?.resolve(value as never);
    else if (error.code === undefined) task?.reject(new Error(error.stack));
    else task?.reject(new BulkheadError(error.code, error.message, { data: error.data ?? {} }));
  }
}

/**
 * Threads of the current test; what still runs is terminated after it. Call it after `useRuntime()`. With `answer` the
 * thread accepts every form that a server asks for with that value.
 */
export function useAgents(): (handle: RuntimeHandle, answer?: string) => AgentThread {
  const agents: AgentThread[] = [];
  afterEach(async () => {
    await Promise.all(agents.splice(0).map(({ worker }) => worker.terminate()));
  });
  return (handle, answer) => {
    const workerData = { handle, answer };
    const agent = new AgentThread(new Worker(ENTRY, { workerData, transferList: handle.transfer }));
    agents.push(agent);
    return agent;
  };
}
