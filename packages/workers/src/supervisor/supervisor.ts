/**
 * The supervisor: one child per server, the start gate, the watchdog's rounds and the attached agents. It hands every
 * agent its data ports and notices and stays out of the way of calls.
 */
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Board } from '../board.js';
import { now } from '../clock.js';
import { answer, serveControl } from '../control.js';
import { BulkheadError } from '../errors.js';
import { everyBeat } from '../heartbeat.js';
import {
  type AgentControl,
  type Answer,
  type CloseReport,
  HELLO,
  type ServerExit,
  type ServerSpec,
  type ServerStatus,
  type SupervisorControl,
  type SupervisorInit,
  type SupervisorNotice,
} from '../protocol.js';
import { EraCache } from '../server/era-cache.js';
import { CatalogCache } from './catalog-cache.js';
import { Child } from './child.js';
import type { ChildContext, PortTarget } from './child-context.js';
import { StartGate } from './gate.js';
import { Guard } from './guard.js';
import { RunFile, reapLeftovers } from './run-file.js';
import { Spares } from './spares.js';
import { Watch } from './watch.js';

export class Supervisor implements SupervisorControl {
  readonly #board: Board;
  readonly #children = new Map<string, Child>();
  /** Children that are on their way out but not gone yet, by slot. */
  readonly #leaving = new Set<Child>();
  readonly #agents = new Set<MessagePort>();
  readonly #context: ChildContext;
  readonly #watch: Watch;
  readonly #guard = new Guard();
  readonly #runFile: RunFile;
  #closing: Promise<CloseReport> | undefined;

  constructor(init: SupervisorInit, threadEntry: URL) {
    this.#board = Board.attach(init.board);
    const { options, clientInfo, runDir, logDir, transferBytes, spillDir, handlers, recordFile } = init;
    const slots = options.gateSlots > 0 ? options.gateSlots : 2 * availableParallelism();
    const gate = new StartGate({ slots, holdMs: options.gateHoldMs });
    const left = reapLeftovers(init.stateDir);
    this.#runFile = new RunFile(init.stateDir, basename(runDir));
    this.#context = {
      board: this.#board,
      options,
      gate,
      clientInfo,
      runDir,
      logDir,
      spares: new Spares(
        { entry: threadEntry, heapMb: options.threadHeapMb },
        {
          count: options.spareThreads,
          terminateGraceMs: options.terminateGraceMs,
          busy: () => gate.taken > 0,
        },
      ),
      transferBytes,
      spillDir,
      handlers,
      recordFile,
      tell: (notice) => this.#tell(notice),
      connectAgents: (child, add) => this.#connectAgents(child, add),
      groups: {
        add: (pgid) => {
          this.#guard.add(pgid);
          this.#runFile.add(pgid);
        },
        remove: (pgid) => {
          this.#guard.remove(pgid);
          this.#runFile.remove(pgid);
        },
      },
      catalogs: new CatalogCache(init.cacheDir),
      eras: new EraCache(init.cacheDir, Date.now),
      random: Math.random,
    };
    this.#watch = new Watch(this.#board, options, () => this.#children.values());
    this.#addAgent(init.notices);
    if (left.length > 0) {
      this.#tell({
        type: 'warning',
        message: `ended ${left.length} process groups that a killed host left behind: ${left.join(', ')}`,
      });
    }
    everyBeat(options.heartbeatMs, (lateMicros) => this.#board.beatSupervisor(lateMicros));
  }

  configure(specs: ServerSpec[]): Answer<{ added: string[]; changed: string[]; removed: string[] }> {
    if (this.#closing !== undefined) return { error: { code: 'CLOSED', message: 'the runtime is closing' } };
    const wanted = new Map(specs.map((spec) => [spec.name, spec]));
    const diff = { added: [] as string[], changed: [] as string[], removed: [] as string[] };
    for (const [name, child] of this.#children) {
      if (wanted.has(name)) continue;
      diff.removed.push(name);
      this.#remove(child);
    }
    for (const [name, spec] of wanted) {
      const child = this.#children.get(name);
      if (child === undefined) {
        const slot = this.#freeSlot();
        if (slot === undefined) {
          const message = `server "${name}" was not started: all ${this.#board.slots} places are taken; raise maxServers`;
          this.#tell({ type: 'warning', server: name, message });
          continue;
        }
        diff.added.push(name);
        this.#tell(entryNotice(spec, false));
        this.#board.vacate(slot);
        this.#children.set(name, this.#newChild(spec, slot));
      } else if (differs(child.spec, spec)) {
        diff.changed.push(name);
        this.#tell(entryNotice(spec, true));
        child.reconfigure(spec);
      }
    }
    return { ok: diff };
  }

  start(name: string): Promise<Answer<null>> {
    return this.#with(name, (child) => child.start());
  }

  stop(name: string): Promise<Answer<ServerExit>> {
    return answer(() => this.#child(name).stop());
  }

  restart(name: string): Promise<Answer<null>> {
    return this.#with(name, (child) => child.restart());
  }

  enable(name: string): Promise<Answer<null>> {
    return this.#with(name, (child) => child.setDisabled(false));
  }

  disable(name: string): Promise<Answer<null>> {
    return this.#with(name, (child) => child.setDisabled(true));
  }

  drain(name: string, timeoutMs: number): Promise<Answer<ServerExit>> {
    return answer(() => this.#child(name).drain(timeoutMs));
  }

  status(): Answer<ServerStatus[]> {
    return { ok: [...this.#children.values()].map((child) => child.status()) };
  }

  attach(notices: MessagePort, control: MessagePort): Answer<null> {
    notices.once('message', (message) => {
      if (message === HELLO) this.#welcome(notices);
    });
    serveControl(this.#agentControl(), control);
    return { ok: null };
  }

  /** A bug in this thread, told while it still can be; the exit that follows is what the agent acts on. */
  crashed(error: Error): void {
    this.#tell({
      type: 'warning',
      message: `the supervisor thread crashed: ${error.stack ?? error.message}`,
    });
  }

  shutdown(deadlineMs: number): Promise<Answer<CloseReport>> {
    if (this.#closing === undefined) this.#closing = this.#shutdown(deadlineMs);
    else setTimeout(() => this.#killAll(), deadlineMs);
    const closing = this.#closing;
    return answer(() => closing);
  }

  async #shutdown(deadlineMs: number): Promise<CloseReport> {
    const startedAt = now();
    const children = [...this.#children.values(), ...this.#leaving];
    for (const child of children) child.remove();
    const spares = this.#context.spares.close();
    const all = Promise.all(children.map((child) => child.done));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), deadlineMs);
    });
    if ((await Promise.race([all, late])) === 'late') {
      this.#killAll();
      // SIGKILL cannot be refused; what the kernel still needs is a moment to deliver it.
      await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 500))]);
    }
    clearTimeout(timer);
    this.#watch.stop();
    await this.#guard.end();
    this.#runFile.end();
    return {
      servers: children.map((child) => child.exitReport()),
      lostThreads: children.reduce((sum, child) => sum + child.lostThreads, await spares),
      tookMs: now() - startedAt,
    };
  }

  #killAll(): void {
    for (const child of [...this.#children.values(), ...this.#leaving]) child.killNow();
  }

  #child(name: string): Child {
    const child = this.#children.get(name);
    if (child === undefined) {
      throw new BulkheadError(
        'UNKNOWN_SERVER',
        `there is no server "${name}"; known: ${[...this.#children.keys()].join(', ') || 'none'}`,
      );
    }
    return child;
  }

  #with(name: string, act: (child: Child) => void): Promise<Answer<null>> {
    return answer(() => {
      act(this.#child(name));
      return null;
    });
  }

  #newChild(spec: ServerSpec, slot: number): Child {
    let child: Child | undefined;
    // What a removed child still does is nobody's news: its name may belong to the next one already.
    const current = () => child === undefined || !this.#leaving.has(child);
    child = new Child(spec, slot, {
      ...this.#context,
      tell: (notice) => {
        if (current()) this.#tell(notice);
      },
    });
    return child;
  }

  #remove(child: Child): void {
    this.#children.delete(child.name);
    this.#leaving.add(child);
    this.#tell({ type: 'removed', server: child.name });
    child.remove();
    void child.done.then(() => this.#leaving.delete(child));
  }

  #freeSlot(): number | undefined {
    const taken = new Set([...this.#children.values(), ...this.#leaving].map((child) => child.slot));
    for (let slot = 0; slot < this.#board.slots; slot++) if (!taken.has(slot)) return slot;
    return undefined;
  }

  #addAgent(notices: MessagePort): void {
    this.#agents.add(notices);
    notices.once('close', () => this.#agents.delete(notices));
    notices.on('message', () => {}); // only a referenced port reports its close
  }

  #welcome(notices: MessagePort): void {
    this.#addAgent(notices);
    for (const child of this.#children.values()) {
      notices.postMessage(entryNotice(child.spec, false));
      if (child.thread !== undefined)
        this.#connect(notices, child, (port, sent) => child.addAgent(port, sent));
      child.introduce((notice) => notices.postMessage(notice));
    }
    notices.postMessage({ type: 'introduced' } satisfies SupervisorNotice);
  }

  #agentControl(): AgentControl {
    return {
      start: (name) => this.start(name),
      stop: (name) => this.stop(name),
      restart: (name) => this.restart(name),
      enable: (name) => this.enable(name),
      disable: (name) => this.disable(name),
      drain: (name, timeoutMs) => this.drain(name, timeoutMs),
      status: () => this.status(),
    };
  }

  #tell(notice: SupervisorNotice): void {
    for (const agent of this.#agents) agent.postMessage(notice);
  }

  #connectAgents(target: PortTarget, add: (port: MessagePort, sent: SharedArrayBuffer) => void): void {
    for (const agent of this.#agents) this.#connect(agent, target, add);
  }

  #connect(
    agent: MessagePort,
    target: PortTarget,
    add: (port: MessagePort, sent: SharedArrayBuffer) => void,
  ): void {
    const { port1, port2 } = new MessageChannel();
    const sent = new SharedArrayBuffer(4);
    add(port2, sent);
    const notice: SupervisorNotice = {
      type: 'port',
      server: target.name,
      generation: target.generation,
      slot: target.slot,
      port: port1,
      sent,
    };
    agent.postMessage(notice, [port1]);
  }
}

/** What an agent must know of an entry in order to send calls; nothing of what runs. */
function entryNotice(spec: ServerSpec, replacing: boolean): SupervisorNotice {
  const { name, options, lifecycle, idleStopMs } = spec;
  return { type: 'server', server: name, options, lazy: lifecycle === 'lazy' || idleStopMs > 0, replacing };
}

/** The fingerprint covers what runs; whether it may run at all is told beside it. */
function differs(before: ServerSpec, after: ServerSpec): boolean {
  return before.fingerprint !== after.fingerprint || before.held?.reason !== after.held?.reason;
}
