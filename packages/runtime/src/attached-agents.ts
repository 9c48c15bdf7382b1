/**
 * The owner's hold on the threads that are attached to its runtime: tells them what only it knows, serves what only it
 * can do, and gives each of them ports to every new supervisor. A thread that ends closes its ports and is forgotten.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { type Control, type Reason, type SupervisorControl, serveControl } from '@bulkhead/workers';
import type { AgentNews, OwnerControl, OwnerNews } from './agent-messages.js';
import { CONTROL_MS } from './server-commands.js';
import type { Witness } from './witness.js';

interface Attached {
  news: MessagePort;
  control: MessagePort;
}

export class AttachedAgents {
  readonly #serves: OwnerControl;
  readonly #witness: Witness | undefined;
  readonly #agents = new Set<Attached>();
  /** Undefined while there is none that knows the servers. */
  #supervisor: Control<SupervisorControl> | undefined;

  constructor(serves: OwnerControl, witness: Witness | undefined) {
    this.#serves = serves;
    this.#witness = witness;
  }

  /** The far ends of one more agent's ports; its way to the supervisor is on them already. */
  admit(): Attached {
    const news = new MessageChannel();
    const control = new MessageChannel();
    const agent: Attached = { news: news.port1, control: control.port1 };
    this.#agents.add(agent);
    news.port1.once('close', () => this.#forget(agent));
    // Only a port that is read reports its close.
    news.port1.on('message', ({ accounts }: AgentNews) => {
      for (const account of accounts) this.#witness?.(account);
    });
    serveControl(this.#serves, control.port1);
    // An attached thread keeps itself alive, never the owner.
    for (const port of [news.port1, control.port1]) port.unref();
    this.#connect(agent);
    return { news: news.port2, control: control.port2 };
  }

  /** A supervisor that knows the servers is there: every agent gets its ports to it. */
  up(supervisor: Control<SupervisorControl>): void {
    this.#supervisor = supervisor;
    for (const agent of this.#agents) this.#connect(agent);
  }

  lost(message: string, restarts: number, final: Reason | undefined): void {
    this.#supervisor = undefined;
    this.tell({ type: 'supervisor-lost', message, restarts, ...(final === undefined ? {} : { final }) });
  }

  tell(news: Exclude<OwnerNews, { type: 'supervisor' }>): void {
    for (const agent of this.#agents) agent.news.postMessage(news);
  }

  /** Their last accounts may still come, until {@link end}. */
  close(why: string): void {
    this.tell({ type: 'closed', why });
    for (const { control } of this.#agents) control.close();
  }

  end(): void {
    for (const agent of [...this.#agents]) this.#forget(agent);
  }

  #forget(agent: Attached): void {
    this.#agents.delete(agent);
    agent.news.close();
    agent.control.close();
  }

  #connect(agent: Attached): void {
    if (this.#supervisor === undefined) return; // the next one connects all
    const notices = new MessageChannel();
    const control = new MessageChannel();
    const theirs = [notices.port1, control.port1] as const;
    this.#supervisor
      .call('attach', [...theirs], { timeoutMs: CONTROL_MS, transfer: [...theirs] })
      .catch(() => {}); // it was lost, and the next one connects all
    const news: OwnerNews = { type: 'supervisor', notices: notices.port2, control: control.port2 };
    agent.news.postMessage(news, [notices.port2, control.port2]);
  }
}
