/**
 * What an agent may command the supervisor to do with a server, over the control connection of the moment. Every command
 * has a limit that leaves the supervisor room for the longest way down the kill ladder.
 */
import type { AgentControl, Control, ServerStatus } from '@bulkhead/workers';
import type { Limits } from './limits.js';
import type { ServerRef } from './server-ref.js';

/** How long the supervisor may take to answer a control call; a busy start of many servers is not a death. */
export const CONTROL_MS = 10_000;

export class ServerCommands {
  readonly #supervisor: () => Control<AgentControl>;
  readonly #limits: Limits;

  /** @param supervisor the connection of the moment: a lost supervisor is followed by another one. */
  constructor(supervisor: () => Control<AgentControl>, limits: Limits) {
    this.#supervisor = supervisor;
    this.#limits = limits;
  }

  /** Asks for the start of a server that a call waits for; the call has its own limit. */
  wake(name: string): void {
    void this.#control('start', [name]).catch(() => {});
  }

  async start(ref: ServerRef): Promise<void> {
    ref.forgive();
    ref.startAsked = ref.state === 'stopped' || ref.state === 'stopping';
    try {
      await this.#control('start', [ref.name]);
    } catch (error) {
      ref.startAsked = false;
      throw error;
    }
  }

  async stop(ref: ServerRef): Promise<void> {
    ref.startAsked = false;
    await this.#control('stop', [ref.name], this.#ladderMs());
  }

  async restart(ref: ServerRef): Promise<void> {
    ref.forgive();
    ref.replacing();
    await this.#control('restart', [ref.name]);
  }

  async enable(ref: ServerRef): Promise<void> {
    ref.forgive();
    await this.#control('enable', [ref.name]);
  }

  async disable(ref: ServerRef): Promise<void> {
    await this.#control('disable', [ref.name]);
  }

  async drain(ref: ServerRef, timeoutMs = this.#limits.drainTimeoutMs): Promise<void> {
    await this.#control('drain', [ref.name, timeoutMs], timeoutMs + this.#ladderMs());
  }

  status(): Promise<ServerStatus[]> {
    return this.#control('status', []);
  }

  /** @throws {BulkheadError} what the supervisor answered; `INTERNAL` when it did not. */
  async #control<K extends keyof AgentControl>(
    method: K,
    args: Parameters<AgentControl[K]>,
    timeoutMs: number = CONTROL_MS,
  ) {
    return await this.#supervisor().call<K>(method, args as never, { timeoutMs });
  }

  #ladderMs(): number {
    const { eofGraceMs, termGraceMs, killGraceMs, terminateGraceMs } = this.#limits;
    return eofGraceMs + 2 * termGraceMs + 2 * killGraceMs + terminateGraceMs + CONTROL_MS;
  }
}
