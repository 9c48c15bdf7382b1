/**
 * A runtime in another thread than its owner's: the same API over ports of its own to the supervisor and to every server
 * thread, so that no call passes the owner's loop. It shares sessions and owns none; its end is nobody else's.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import {
  type AgentControl,
  Board,
  BulkheadError,
  type CloseReport,
  Control,
  HELLO,
  MAX_TIMER_MS,
  now,
  type SupervisorNotice,
} from '@bulkhead/workers';
import type { ServerTrust } from './agent/tool.js';
import type { AgentNews, Findings, OwnerControl, OwnerNews } from './agent-messages.js';
import { AgentRuntime, type RosterNotice } from './agent-runtime.js';
import type { AgentHandlers, ReconfigureReport, ServerEntryInput } from './api.js';
import type { LoadedConfig } from './config/types.js';
import { withOwner } from './forwarded-asks.js';
import { OwnersGate } from './gate.js';
import { claimHandle, type RuntimeHandle } from './runtime-handle.js';
import { CONTROL_MS } from './server-commands.js';
import { type MakeTelemetry, openTelemetry } from './telemetry/open.js';
import type { TelemetrySetting } from './telemetry/options.js';
import type { CallAccount, Witness } from './witness.js';

/** How a thread takes part in the runtime of another one. */
export interface AttachOptions {
  /**
   * Answers to questions that belong to this agent's calls (protocol 2026-07-28); for what is not given, and for servers
   * that do not say which call they ask for, the owner's handlers are asked. Only what the owner offers is declared.
   */
  handlers?: AgentHandlers;
  /** How long the supervisor may take to introduce the servers, in ms. Default 10 000. */
  timeoutMs?: number;
  /**
   * Traces and metrics of this thread's calls. Default `auto`: on when a provider is registered globally in this thread
   * before it attaches. Servers' lives are told of by the owner.
   */
  telemetry?: TelemetrySetting;
}

/** A reconfiguration waits for those before it. */
const RECONFIGURE_MS = 6 * CONTROL_MS;

/**
 * The runtime of another thread, in this one. Resolves when every server, its state and its tools are known here;
 * `ready()` waits for those that are still starting. `close()` ends this agent only.
 * @param handle what `runtime.attach()` gave there, passed with its `transfer` list.
 * @throws {BulkheadError} `BAD_INPUT` for a handle that was never transferred, was used already or is none; `CLOSED` when
 * the owner has closed meanwhile; `INTERNAL` when no supervisor answered within `timeoutMs`.
 */
export async function attachRuntime(
  handle: RuntimeHandle,
  options: AttachOptions = {},
): Promise<AttachedRuntime> {
  claimHandle(handle);
  const telemetry = await openTelemetry(options.telemetry, { owner: false });
  const runtime = new AttachedRuntime(handle, options.handlers ?? {}, telemetry);
  await runtime.introduced(options.timeoutMs ?? CONTROL_MS);
  return runtime;
}

interface Link {
  notices: MessagePort;
  control: Control<AgentControl>;
}

/** A runtime whose servers belong to another thread. Made by `attachRuntime()`. */
export class AttachedRuntime extends AgentRuntime {
  readonly #news: MessagePort;
  readonly #owner: Control<OwnerControl>;
  readonly #isWitnessed: boolean;
  #findings: Findings;
  #link: Link | undefined;
  /** Servers that the supervisor of the moment has told of. */
  readonly #known = new Set<string>();
  readonly #introduced: Promise<void>;
  #settleIntroduction: { done: () => void; fail: (error: BulkheadError) => void } | undefined;
  #closing: Promise<CloseReport> | undefined;

  constructor(handle: RuntimeHandle, handlers: AgentHandlers, telemetry: MakeTelemetry | undefined) {
    const owner = new Control<OwnerControl>(handle.control, 'the thread that owns the runtime');
    super({
      board: Board.attach(handle.board),
      limits: handle.limits,
      handlers: withOwner(handlers, handle.handlers, (server, method, params) => {
        return owner.call('ask', [server, method, params], { timeoutMs: MAX_TIMER_MS }); // the owner keeps the limit
      }),
      runDir: handle.runDir,
      gate: handle.gated
        ? () => new OwnersGate((call) => owner.call('check', [call], { timeoutMs: MAX_TIMER_MS }))
        : undefined,
      telemetry,
      witness: handle.witnessed ? accountsTo(handle.news) : undefined,
    });
    this.#owner = owner;
    this.#isWitnessed = handle.witnessed;
    this.#findings = handle.findings;
    this.#news = handle.news;
    this.#introduced = new Promise((done, fail) => {
      this.#settleIntroduction = { done, fail };
    });
    this.#introduced.catch(() => {}); // whoever waits for it hears of it
    this.#news.on('message', (news: OwnerNews) => this.#read(news));
    this.#news.once('close', () => void this.#end('the thread that owns the runtime has ended'));
    this.#news.unref();
  }

  /** @throws {BulkheadError} `CLOSED`, or `INTERNAL` after `timeoutMs`; the agent is detached then. */
  async introduced(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => {
      const message = `the supervisor did not introduce its servers within ${timeoutMs} ms; raise timeoutMs or look at the owner's "warning" and "supervisor-lost" events`;
      this.#settleIntroduction?.fail(new BulkheadError('INTERNAL', message));
    }, timeoutMs);
    try {
      await this.#introduced;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Asks the owner: the new set holds for every agent. The same as the owner's `reconfigure()` otherwise. */
  async reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<ReconfigureReport> {
    if (this.over !== undefined) throw new BulkheadError('CLOSED', this.over);
    const report = await this.#owner.call('reconfigure', [next], { timeoutMs: RECONFIGURE_MS });
    // The supervisor told of the change before it answered the owner: it is here, if not read yet.
    this.#readWaiting();
    return report;
  }

  /** Detaches: this agent's calls end, its ports close; servers, owner and other agents go on. The report is empty. */
  close(): Promise<CloseReport> {
    return this.#end('this agent was detached from the runtime');
  }

  protected supervisor(): Control<AgentControl> {
    if (this.over !== undefined) throw new BulkheadError('CLOSED', this.over);
    if (this.#link === undefined) {
      throw new BulkheadError('NOT_READY', 'the supervisor was lost, and the next one is not there yet');
    }
    return this.#link.control;
  }

  protected findings(): Findings {
    return this.#findings;
  }

  protected trustOf(server: string): ServerTrust | undefined {
    return this.#findings.trust.get(server);
  }

  protected roster(notice: RosterNotice): void {
    switch (notice.type) {
      case 'server': {
        this.#known.add(notice.server);
        const ref = this.adopt(notice.server, notice.options, notice.lazy);
        if (notice.replacing) ref.replacing();
        return;
      }
      case 'removed': {
        this.#known.delete(notice.server);
        const ref = this.refs.get(notice.server);
        if (ref !== undefined) this.discard(ref);
        return;
      }
      case 'introduced':
        // A supervisor that follows a lost one may know fewer servers than that one did.
        for (const ref of [...this.refs.values()]) if (!this.#known.has(ref.name)) this.discard(ref);
        this.#settleIntroduction?.done();
        return;
      default:
        notice satisfies never;
    }
  }

  #read(news: OwnerNews): void {
    if (this.over !== undefined) return;
    switch (news.type) {
      case 'supervisor':
        this.#connect(news.notices, news.control);
        return;
      case 'supervisor-lost': {
        const { message, restarts, final } = news;
        this.#lost(message);
        this.events.emit('supervisor-lost', { error: { code: 'SUPERVISOR_LOST', message }, restarts });
        if (final !== undefined) {
          for (const { name: server, generation } of this.refs.values()) {
            this.heard({ type: 'state', server, generation, state: 'quarantined', reason: final });
          }
        }
        return;
      }
      case 'findings':
        this.#findings = news.findings;
        return;
      case 'closed':
        void this.#end(news.why);
        return;
      default:
        news satisfies never;
    }
  }

  #connect(notices: MessagePort, control: MessagePort): void {
    this.#lost('another supervisor took over');
    this.#known.clear();
    const link: Link = { notices, control: new Control<AgentControl>(control, 'the supervisor') };
    this.#link = link;
    notices.on('message', (notice: SupervisorNotice) => {
      this.#readNews();
      this.#hear(link, notice);
    });
    notices.once('close', () => {
      this.#readNews();
      if (this.#link === link) this.#lost('the supervisor thread ended unexpectedly');
    });
    notices.unref();
    notices.postMessage(HELLO);
  }

  #hear(link: Link, notice: SupervisorNotice): void {
    if (this.#link === link) this.heard(notice);
    else if (notice.type === 'port') notice.port.close();
  }

  /** What the owner said before the supervisor acted on it counts first, whichever port is read first. */
  #readNews(): void {
    for (
      let left = receiveMessageOnPort(this.#news);
      left !== undefined;
      left = receiveMessageOnPort(this.#news)
    )
      this.#read(left.message);
  }

  #readWaiting(): void {
    this.#readNews();
    const link = this.#link;
    if (link === undefined) return;
    for (
      let left = receiveMessageOnPort(link.notices);
      left !== undefined;
      left = receiveMessageOnPort(link.notices)
    )
      this.#hear(link, left.message);
  }

  /** Everything in flight ends; later calls wait within their deadlines for the next supervisor. */
  #lost(message: string): void {
    const link = this.#link;
    if (link === undefined) return;
    this.#link = undefined;
    link.notices.close();
    link.control.close();
    this.abandonAll('SUPERVISOR_LOST', message);
    for (const ref of this.refs.values()) ref.reborn();
  }

  #end(why: string): Promise<CloseReport> {
    this.#closing ??= this.#detach(why);
    return this.#closing;
  }

  async #detach(why: string): Promise<CloseReport> {
    const startedAt = now();
    this.over = why;
    this.abandonAll('CLOSED', why);
    this.#settleIntroduction?.fail(new BulkheadError('CLOSED', why));
    this.#link?.notices.close();
    this.#link?.control.close();
    this.#link = undefined;
    // The calls that ended just now are told of in this turn.
    if (this.#isWitnessed) await new Promise(setImmediate);
    this.#news.close();
    this.#owner.close();
    await this.release(why);
    return { servers: [], lostThreads: 0, tookMs: now() - startedAt };
  }
}

/** The accounts of one turn leave together. */
function accountsTo(owner: MessagePort): Witness {
  let accounts: CallAccount[] = [];
  const send = (): void => {
    owner.postMessage({ accounts } satisfies AgentNews);
    accounts = [];
  };
  return (account) => {
    if (accounts.push(account) === 1) queueMicrotask(send);
  };
}
