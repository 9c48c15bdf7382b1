/**
 * What every agent thread holds of a runtime, the owner and the attached ones alike: the handles of the servers, the
 * merged catalog, the events and the promises of calls. How it reaches the supervisor, and what its end means for
 * others, is up to the two that extend it.
 */
import {
  type AgentControl,
  type Board,
  BulkheadError,
  type CloseReport,
  type Control,
  type ServerOptions,
  type SupervisorNotice,
} from '@bulkhead/workers';
import type { ServerTrust } from './agent/tool.js';
import type { Findings } from './agent-messages.js';
import type {
  AgentHandlers,
  CallOptions,
  CatalogRevision,
  CatalogTool,
  ManyCall,
  ManyOutcome,
  RawArguments,
  ReadyReport,
  ReconfigureReport,
  RuntimeApi,
  RuntimeEvents,
  RuntimeStatus,
  ServerEntryInput,
  ServerView,
  ShapedResult,
  ToolResult,
} from './api.js';
import { AskDesk } from './asks.js';
import { callMany } from './call-many.js';
import { CallPath } from './call-path.js';
import { Catalog, isEmpty } from './catalog.js';
import { formatProblem, type LoadedConfig } from './config/types.js';
import { RuntimeListeners } from './events.js';
import type { CallGate, GatedCall, GateFacts } from './gate.js';
import type { Limits } from './limits.js';
import type { Logger } from './logging/logger.js';
import type { CpuPool } from './pool.js';
import { readyReport, settled } from './readiness.js';
import { SessionWishes } from './requests.js';
import { ServerCommands } from './server-commands.js';
import { type RefContext, ServerRef } from './server-ref.js';
import { type ViewContext, viewOf } from './server-view.js';
import { Sweep } from './sweep.js';
import type { MakeTelemetry } from './telemetry/open.js';
import type { Telemetry } from './telemetry/telemetry.js';
import type { Witness } from './witness.js';

export interface AgentInit {
  board: Board;
  limits: Limits;
  handlers: AgentHandlers;
  /** Default place of shaped results. */
  runDir: string;
  /** Undefined when every call may leave. */
  gate: ((facts: GateFacts) => CallGate) | undefined;
  /** Undefined when nobody wants an account of calls. */
  witness: Witness | undefined;
  /** Undefined when nobody listens. */
  telemetry: MakeTelemetry | undefined;
}

/** Notices about which servers there are; the owner knows before the supervisor does. */
export type RosterNotice = Extract<SupervisorNotice, { type: 'server' | 'introduced' | 'removed' }>;

export abstract class AgentRuntime implements RuntimeApi {
  protected readonly board: Board;
  protected readonly limits: Limits;
  protected readonly asks: AskDesk;
  protected readonly runDir: string;
  protected readonly refs = new Map<string, ServerRef>();
  protected readonly events = new RuntimeListeners();
  protected readonly commands: ServerCommands;
  /** Why nothing more can be asked of it, once so. */
  protected over: string | undefined;
  /** Loaded with the first result that is shaped. */
  #pool: Promise<CpuPool> | undefined;
  readonly #wishes = new Map<string, SessionWishes>();
  readonly #catalog = new Catalog();
  readonly #refContext: RefContext;
  readonly #viewContext: ViewContext;
  readonly #sweep: Sweep;
  readonly #gate: CallGate | undefined;
  readonly #calls: CallPath;
  readonly #telemetry: Telemetry | undefined;
  #takenHash: string | undefined;

  constructor({ board, limits, handlers, runDir, gate, witness, telemetry }: AgentInit) {
    this.board = board;
    this.limits = limits;
    this.runDir = runDir;
    this.asks = new AskDesk(handlers);
    this.commands = new ServerCommands(() => this.supervisor(), limits);
    const { restartWaitMs, backstopSlackMs, sweepMs } = limits;
    this.#sweep = new Sweep(sweepMs, (at) => {
      for (const ref of this.refs.values()) ref.sweep(at);
    });
    this.#refContext = {
      board,
      restartWaitMs,
      asks: this.asks,
      backstopSlackMs,
      wake: (server) => this.commands.wake(server),
      pending: (by) => this.#sweep.count(by),
      saturated: (server) => this.events.emit('saturated', { server }),
      drained: (server) => this.events.emit('drain', { server }),
    };
    this.#viewContext = {
      catalog: this.#catalog,
      commands: this.commands,
      call: (ref, tool, args, options) => this.#calls.call(ref, tool, args, options),
      request: (ref) => this.#calls.gatedRequest(ref),
      trust: (name) => this.trustOf(name),
      wishes: (name) => this.#wishesOf(name),
      warn: (warning) => this.events.warn(warning),
    };
    this.#gate = gate?.({
      origin: (server) => this.trustOf(server),
      tool: (server, tool) => this.#catalog.byOrigin(server, tool),
    });
    this.#telemetry = telemetry?.({ refs: this.refs, transport: (server) => this.transportOf(server) });
    this.#calls = new CallPath({
      catalog: this.#catalog,
      // With telemetry, where its refusals are seen.
      gate: this.#gate && (this.#telemetry?.gate(this.#gate) ?? this.#gate),
      witness,
      telemetry: this.#telemetry,
      trust: (server) => this.trustOf(server),
      over: () => this.over,
    });
  }

  get gated(): boolean {
    return this.#gate !== undefined;
  }

  get logger(): Logger | undefined {
    return undefined;
  }

  /** The control connection of the moment. @throws {BulkheadError} when there is none. */
  protected abstract supervisor(): Control<AgentControl>;
  /** What the configuration keeps from running, as last heard. */
  protected abstract findings(): Findings;
  /** What the configuration says of a server. */
  protected abstract trustOf(server: string): ServerTrust | undefined;
  /** How a server is reached; undefined where only the owner knows. */
  protected transportOf(_server: string): 'pipe' | 'tcp' | undefined {
    return undefined;
  }
  protected abstract roster(notice: RosterNotice): void;
  /** A person is being asked whether the server may start. */
  protected awaitsApproval(_server: string): boolean {
    return false;
  }

  abstract reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<ReconfigureReport>;
  abstract close(options?: { deadlineMs?: number }): Promise<CloseReport>;

  /** The same as `close()`: for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async ready(options: { timeoutMs?: number; servers?: string[] } = {}): Promise<ReadyReport> {
    const refs =
      options.servers === undefined
        ? [...this.refs.values()].filter((ref) => !ref.lazy)
        : options.servers.map((name) => this.#ref(name));
    const longest = Math.max(0, ...refs.map((ref) => ref.options.startupTimeoutMs));
    for (const ref of refs) if (ref.lazy) this.commands.wake(ref.name);
    await settled(refs, this.events, options.timeoutMs ?? longest, {
      over: () => this.over !== undefined,
      undecided: (ref) => this.awaitsApproval(ref.name),
    });
    const report = readyReport(refs);
    if (options.servers !== undefined) return report;
    // An entry that cannot run is as little ready as a server that did not start.
    const skipped = this.findings().rejected.map(({ name, problem }) => ({
      name,
      state: 'quarantined' as const,
      reason: { kind: 'config', message: formatProblem(problem) },
    }));
    return { ...report, ok: report.ok && skipped.length === 0, failed: [...report.failed, ...skipped] };
  }

  tools(): readonly CatalogTool[] {
    return this.#catalog.tools;
  }

  catalog(): CatalogRevision {
    return this.#catalog.revision;
  }

  refreshIfDirty(): CatalogRevision | undefined {
    const current = this.#catalog.revision;
    // Back to what it was is no change.
    if (current.hash === this.#takenHash) return undefined;
    this.#takenHash = current.hash;
    return current;
  }

  callTool(
    fullName: string,
    args?: Record<string, unknown> | RawArguments,
    options?: CallOptions,
  ): Promise<ToolResult> {
    const tool = this.#catalog.byFullName(fullName);
    if (tool === undefined) return this.#calls.refuse(this.#unknownTool(fullName), null, fullName, options);
    return this.#calls.call(this.#ref(tool.server), tool.name, args, options);
  }

  callMany(
    calls: Iterable<ManyCall> | AsyncIterable<ManyCall>,
    options: { concurrency?: number } = {},
  ): AsyncGenerator<ManyOutcome> {
    return callMany(this, calls, options.concurrency ?? 64);
  }

  async shape(
    result: ToolResult,
    options: { maxBytes?: number; directory?: string; signal?: AbortSignal } = {},
  ): Promise<ShapedResult> {
    this.#pool ??= import('./pool.js').then(({ CpuPool }) => new CpuPool());
    const pool = await this.#pool;
    return pool.shape(result, { directory: this.runDir, ...options });
  }

  rootsChanged(): void {
    for (const ref of this.refs.values()) ref.notify('notifications/roots/list_changed', {});
  }

  async drain(options: { timeoutMs?: number } = {}): Promise<void> {
    await Promise.all([...this.refs.values()].map((ref) => this.commands.drain(ref, options.timeoutMs)));
  }

  server(name: string): ServerView {
    return viewOf(this.#ref(name), this.#viewContext);
  }

  servers(): readonly ServerView[] {
    return [...this.refs.values()].map((ref) => viewOf(ref, this.#viewContext));
  }

  async status(): Promise<RuntimeStatus> {
    const servers = await this.commands.status();
    return {
      servers: servers.flatMap((status) => {
        const ref = this.refs.get(status.name);
        return ref === undefined ? [] : [{ ...status, stats: ref.stats() }];
      }),
      problems: this.findings().problems.map(formatProblem),
    };
  }

  on<K extends keyof RuntimeEvents>(event: K, listener: (...args: RuntimeEvents[K]) => void): this {
    this.events.on(event, listener);
    return this;
  }

  off<K extends keyof RuntimeEvents>(event: K, listener: (...args: RuntimeEvents[K]) => void): this {
    this.events.off(event, listener);
    return this;
  }

  // ── for the two kinds of agents ─────────────────────────────────────────────────────────────────────────────────

  protected adopt(name: string, options: ServerOptions, lazy: boolean): ServerRef {
    const known = this.refs.get(name);
    if (known !== undefined) {
      known.adopt(options, lazy);
      return known;
    }
    const ref = new ServerRef(name, options, lazy, this.#refContext);
    this.refs.set(name, ref);
    return ref;
  }

  /** The server is no longer wanted: its calls end, its tools leave the catalog. */
  protected discard(ref: ServerRef): void {
    const { name } = ref;
    ref.abandon('CLOSED', 'its server was removed from the configuration');
    this.refs.delete(name);
    const removed = this.#catalog.ofServer(name).map((tool) => tool.name);
    if (!this.#catalog.delete(name)) return;
    const { revision } = this.#catalog.revision;
    this.events.emit('tools', { server: name, revision, count: 0, added: [], removed, changed: [] });
  }

  protected heard(notice: SupervisorNotice): void {
    this.#telemetry?.heard(notice);
    switch (notice.type) {
      case 'port': {
        const ref = this.refs.get(notice.server);
        if (ref === undefined) notice.port.close();
        else ref.connect(notice);
        return;
      }
      case 'state': {
        const ref = this.refs.get(notice.server);
        if (ref !== undefined) this.#moved(ref, notice);
        return;
      }
      case 'catalog':
        if (this.refs.has(notice.server)) this.#listed(notice);
        return;
      case 'event':
        if (notice.event.name === 'renewed') this.#repeatWishes(notice.server);
        else this.events.told(notice.server, notice.event);
        return;
      case 'server':
      case 'introduced':
      case 'removed':
        this.roster(notice);
        return;
      case 'warning':
        this.events.warn({
          message: notice.message,
          ...(notice.server === undefined ? {} : { server: notice.server }),
        });
        return;
      default:
        notice satisfies never;
    }
  }

  /** Everything that waits or flies ends, and nothing more is taken. */
  protected abandonAll(code: 'SUPERVISOR_LOST' | 'CLOSED', why: string): void {
    if (code === 'CLOSED') this.#gate?.close(why);
    else this.#telemetry?.supervisorLost();
    for (const ref of this.refs.values()) ref.abandon(code, why);
  }

  /** For an attached agent. @throws {BulkheadError} as the gate says. */
  protected async passGate(call: GatedCall): Promise<null> {
    const ended = await this.#gate?.pass(call, undefined);
    // How it ends is not told here; that it may have been answered is the careful guess.
    ended?.('outcome_unknown');
    return null;
  }

  /** The last act: no timer, no thread and no listener stays. */
  protected async release(why: string): Promise<void> {
    this.#sweep.stop();
    this.#telemetry?.close();
    await (await this.#pool)?.close();
    const reason = { kind: 'closed', message: why };
    this.events.emit('state', { server: '', state: 'stopped', generation: 0, reason });
    this.events.clear();
  }

  // ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #wishesOf(name: string): SessionWishes {
    const wishes = this.#wishes.get(name) ?? new SessionWishes();
    this.#wishes.set(name, wishes);
    return wishes;
  }

  #ref(name: string): ServerRef {
    const ref = this.refs.get(name);
    if (ref !== undefined) return ref;
    const rejected = this.findings().rejected.find((entry) => entry.name === name);
    const why =
      rejected === undefined
        ? `known: ${[...this.refs.keys()].join(', ') || 'none'}`
        : `its entry was skipped: ${formatProblem(rejected.problem)}`;
    throw new BulkheadError('UNKNOWN_SERVER', `there is no server "${name}"; ${why}`, { server: name });
  }

  #unknownTool(fullName: string): BulkheadError {
    const late = [...this.refs.values()]
      .filter((ref) => ref.state !== 'ready')
      .map((ref) => `${ref.name} (${ref.state})`);
    const hint = late.length === 0 ? '' : `; not ready yet: ${late.join(', ')}`;
    return new BulkheadError('UNKNOWN_TOOL', `there is no tool "${fullName}"${hint}`, { tool: fullName });
  }

  #moved(ref: ServerRef, notice: Extract<SupervisorNotice, { type: 'state' }>): void {
    ref.moved(notice);
    if (notice.state === 'ready') this.#repeatWishes(ref.name);
    const { server, state, generation, reason } = notice;
    this.events.emit('state', { server, state, generation, ...(reason === undefined ? {} : { reason }) });
  }

  #listed({ server, catalog }: Extract<SupervisorNotice, { type: 'catalog' }>): void {
    const diff = this.#catalog.set(server, catalog);
    if (isEmpty(diff)) return;
    const { revision } = this.#catalog.revision;
    this.events.emit('tools', { server, revision, count: catalog.tools.length, ...diff });
  }

  /** A new session knows nothing of what was asked of the last one. */
  #repeatWishes(server: string): void {
    const ref = this.refs.get(server);
    if (ref !== undefined) void this.#wishes.get(server)?.repeat(this.#calls.request(ref));
  }
}
