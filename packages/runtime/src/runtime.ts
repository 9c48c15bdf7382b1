/**
 * The runtime: what an agent holds. It owns the handles of the servers, the merged catalog and the promises of calls;
 * threads, processes and bytes are elsewhere.
 */
import { EventEmitter } from 'node:events';
import { rmSync } from 'node:fs';
import {
  Board,
  BulkheadError,
  type CloseReport,
  now,
  type Reason,
  resting,
  type ServerEvent,
  type ServerSpec,
  type SupervisorControl,
  type SupervisorNotice,
} from '@bulkhead/workers';
import type {
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
  RuntimeOptions,
  RuntimeStatus,
  ServerEntryInput,
  ServerView,
  ShapedResult,
  ToolResult,
} from './api.js';
import { AskDesk } from './asks.js';
import { argumentsText, PendingCall } from './call.js';
import { callMany } from './call-many.js';
import { Catalog, isEmpty } from './catalog.js';
import { resolveServers } from './config/load.js';
import { formatProblem, type LoadedConfig } from './config/types.js';
import { type Limits, limitsFrom } from './limits.js';
import { cacheDir, makeLogDir, makeRunDir, stateDir } from './places.js';
import { CpuPool } from './pool.js';
import { requestsOf, type SendRequest, SessionWishes } from './requests.js';
import { type RefContext, ServerRef } from './server-ref.js';
import { killByBoard, type LinkInit, SupervisorLink } from './supervisor-link.js';

/** What every open runtime does when the program ends without closing it; one listener of `process` for all of them. */
const atExit = new Set<() => void>();
process.on('exit', () => {
  for (const end of atExit) end();
});

/** How long the supervisor may take to answer a control call; a busy start of many servers is not a death. */
const CONTROL_MS = 10_000;

/**
 * Starts a runtime. Resolves as soon as the supervisor has the list; the servers join in the background
 * (`ready()` waits for them).
 * @throws {BulkheadError} `BAD_CONFIG` when the options name neither `servers` nor `config`, or a limit is not a number.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  if ((options.servers === undefined) === (options.config === undefined)) {
    throw new BulkheadError('BAD_CONFIG', 'createRuntime expects either "servers" or "config"');
  }
  const config = options.config ?? (await resolveServers(options.servers ?? {}, {}));
  const runtime = new Runtime(config, options);
  await runtime.begin();
  return runtime;
}

export class Runtime implements RuntimeApi {
  #config: LoadedConfig;
  #reconfiguring: Promise<unknown> = Promise.resolve();
  readonly #pool = new CpuPool();
  readonly #asks: AskDesk;
  readonly #wishes = new Map<string, SessionWishes>();
  readonly #limits: Limits;
  readonly #board: Board;
  readonly #init: LinkInit;
  readonly #refs = new Map<string, ServerRef>();
  readonly #specs = new Map<string, ServerSpec>();
  readonly #catalog = new Catalog();
  readonly #events = new EventEmitter<{ [K in keyof RuntimeEvents]: RuntimeEvents[K] }>();
  readonly #refContext: RefContext;
  #link: SupervisorLink;
  #losses: number[] = [];
  readonly #earlyWarnings: RuntimeEvents['warning'][0][] = [];
  #takenHash: string | undefined;
  #pending = 0;
  #sweep: NodeJS.Timeout | undefined;
  #closing: Promise<CloseReport> | undefined;
  readonly #onExit: () => void;

  constructor(config: LoadedConfig, options: RuntimeOptions) {
    this.#config = config;
    this.#limits = limitsFrom(options.limits ?? {});
    this.#board = Board.create(this.#limits.maxServers);
    this.#asks = new AskDesk(options.handlers ?? {});
    const { restartWaitMs, backstopSlackMs, transferBytes } = this.#limits;
    this.#refContext = {
      board: this.#board,
      restartWaitMs,
      asks: this.#asks,
      backstopSlackMs,
      wake: (server) => void this.#control('start', [server]).catch(() => {}),
      pending: (by) => this.#count(by),
      saturated: (server) => this.#events.emit('saturated', { server }),
      drained: (server) => this.#events.emit('drain', { server }),
    };
    this.#init = {
      options: this.#limits,
      clientInfo: options.clientInfo ?? { name: 'bulkhead', version: '0.1.0' },
      runDir: makeRunDir(),
      stateDir: stateDir(),
      cacheDir: cacheDir(),
      logDir: makeLogDir(options.logDir, options.config?.projectDir),
      transferBytes,
      handlers: this.#asks.offered,
    };
    for (const { name, spec } of config.servers) this.#adopt(name, spec);
    this.#onExit = () => {
      killByBoard(this.#board);
      rmSync(this.#init.runDir, { recursive: true, force: true });
    };
    atExit.add(this.#onExit);
    this.#link = this.#startSupervisor();
  }

  /** Hands the servers to the supervisor. */
  async begin(): Promise<void> {
    await this.#control('configure', [[...this.#specs.values()]]);
  }

  async ready(options: { timeoutMs?: number; servers?: string[] } = {}): Promise<ReadyReport> {
    const names =
      options.servers ?? [...this.#refs.values()].filter((ref) => !ref.lazy).map((ref) => ref.name);
    const longest = Math.max(0, ...names.map((name) => this.#ref(name).options.startupTimeoutMs));
    const timeoutMs = options.timeoutMs ?? longest;
    for (const name of names) if (this.#ref(name).lazy) this.#refContext.wake(name);
    const waiting = () => names.filter((name) => !isSettled(this.#ref(name)));
    if (waiting().length > 0) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.#events.off('state', look);
          resolve();
        };
        const look = () => {
          if (waiting().length === 0 || this.#closing !== undefined) done();
        };
        const timer = setTimeout(done, timeoutMs);
        this.#events.on('state', look);
      });
    }
    const refs = names.map((name) => this.#ref(name));
    const failed: ReadyReport['failed'] = refs
      .filter((ref) => ref.state !== 'ready')
      .map((ref) => ({
        name: ref.name,
        state: ref.state,
        ...(ref.reason === undefined ? {} : { reason: ref.reason }),
      }));
    if (options.servers === undefined) {
      // An entry that cannot run is as little ready as a server that did not start.
      for (const { name, problem } of this.#config.rejected) {
        failed.push({
          name,
          state: 'quarantined',
          reason: { kind: 'config', message: formatProblem(problem) },
        });
      }
    }
    return {
      ok: failed.length === 0,
      ready: refs.filter((ref) => ref.state === 'ready').map((ref) => ref.name),
      failed,
    };
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
    if (tool === undefined) return Promise.reject(this.#unknownTool(fullName));
    return this.#call(this.#ref(tool.server), tool.name, args, options);
  }

  callMany(
    calls: Iterable<ManyCall> | AsyncIterable<ManyCall>,
    options: { concurrency?: number } = {},
  ): AsyncGenerator<ManyOutcome> {
    return callMany(this, calls, options.concurrency ?? 64);
  }

  shape(
    result: ToolResult,
    options: { maxBytes?: number; directory?: string; signal?: AbortSignal } = {},
  ): Promise<ShapedResult> {
    return this.#pool.shape(result, { directory: this.#init.runDir, ...options });
  }

  reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<ReconfigureReport> {
    const turn = this.#reconfiguring.then(() => this.#reconfigure(next));
    this.#reconfiguring = turn.catch(() => {});
    return turn;
  }

  rootsChanged(): void {
    for (const ref of this.#refs.values()) ref.notify('notifications/roots/list_changed', {});
  }

  async drain(options: { timeoutMs?: number } = {}): Promise<void> {
    await Promise.all([...this.#refs.values()].map((ref) => this.#drain(ref, options.timeoutMs)));
  }

  server(name: string): ServerView {
    return this.#view(this.#ref(name));
  }

  servers(): readonly ServerView[] {
    return [...this.#refs.values()].map((ref) => this.#view(ref));
  }

  async status(): Promise<RuntimeStatus> {
    const servers = await this.#control('status', []);
    return {
      servers: servers.flatMap((status) => {
        const ref = this.#refs.get(status.name);
        return ref === undefined ? [] : [{ ...status, stats: ref.stats() }];
      }),
      problems: this.#config.problems.map(formatProblem),
    };
  }

  on<K extends keyof RuntimeEvents>(event: K, listener: (...args: RuntimeEvents[K]) => void): this {
    this.#events.on(event, listener as never);
    if (event === 'warning' && this.#earlyWarnings.length > 0) {
      queueMicrotask(() => {
        for (const warning of this.#earlyWarnings.splice(0)) this.#warn(warning);
      });
    }
    return this;
  }

  off<K extends keyof RuntimeEvents>(event: K, listener: (...args: RuntimeEvents[K]) => void): this {
    this.#events.off(event, listener as never);
    return this;
  }

  close(options: { deadlineMs?: number } = {}): Promise<CloseReport> {
    if (this.#closing !== undefined && options.deadlineMs !== undefined) {
      // In a greater hurry than the first time: the supervisor shortens its ladder.
      void this.#control('shutdown', [options.deadlineMs]).catch(() => {});
    }
    this.#closing ??= this.#close(options.deadlineMs ?? this.#limits.closeDeadlineMs);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #call(
    ref: ServerRef,
    tool: string,
    args: Record<string, unknown> | RawArguments | undefined,
    options: CallOptions | undefined,
  ): Promise<ToolResult> {
    if (this.#closing !== undefined) {
      return Promise.reject(
        new BulkheadError('CLOSED', `${ref.name}.${tool}: the runtime is closed`, { server: ref.name, tool }),
      );
    }
    let text: string;
    try {
      text = argumentsText(ref.name, tool, args);
    } catch (error) {
      return Promise.reject(error);
    }
    const call = new PendingCall(ref.name, tool, text, options, ref.options);
    ref.submit(call, options?.signal);
    return call.promise;
  }

  #view(ref: ServerRef): ServerView {
    const catalog = this.#catalog;
    return {
      name: ref.name,
      get state() {
        return ref.state;
      },
      get reason() {
        return ref.reason;
      },
      get generation() {
        return ref.generation;
      },
      get instructions() {
        return catalog.of(ref.name)?.instructions;
      },
      get tools() {
        return catalog.ofServer(ref.name);
      },
      callTool: (tool, args, options) => {
        // Known to be missing only once the list is known; before that the call waits like any other.
        if (ref.state === 'ready' && catalog.byOrigin(ref.name, tool) === undefined) {
          return Promise.reject(this.#unknownRawTool(ref.name, tool));
        }
        return this.#call(ref, tool, args, options);
      },
      ...requestsOf(ref.name, catalog, this.#wishesOf(ref.name), this.#request(ref), (message) =>
        this.#warn({ server: ref.name, message }),
      ),
      start: () => this.#start(ref),
      stop: async () => {
        ref.startAsked = false;
        await this.#control('stop', [ref.name], this.#ladderMs());
      },
      restart: async () => {
        ref.forgive();
        ref.replacing();
        await this.#control('restart', [ref.name]);
      },
      enable: async () => {
        ref.forgive();
        await this.#control('enable', [ref.name]);
      },
      disable: async () => void (await this.#control('disable', [ref.name])),
      drain: (options) => this.#drain(ref, options?.timeoutMs),
    };
  }

  #request(ref: ServerRef): SendRequest {
    return (method, params, options) => {
      if (this.#closing !== undefined) {
        return Promise.reject(
          new BulkheadError('CLOSED', `${ref.name}: the runtime is closed`, { server: ref.name }),
        );
      }
      const call = new PendingCall(ref.name, method, JSON.stringify(params), options, ref.options, 'request');
      ref.submit(call, options?.signal);
      return call.promise;
    };
  }

  #wishesOf(name: string): SessionWishes {
    const wishes = this.#wishes.get(name) ?? new SessionWishes();
    this.#wishes.set(name, wishes);
    return wishes;
  }

  async #start(ref: ServerRef): Promise<void> {
    ref.forgive();
    ref.startAsked = ref.state === 'stopped' || ref.state === 'stopping';
    try {
      await this.#control('start', [ref.name]);
    } catch (error) {
      ref.startAsked = false;
      throw error;
    }
  }

  #adopt(name: string, spec: ServerSpec): void {
    const lazy = spec.lifecycle === 'lazy' || spec.idleStopMs > 0;
    this.#specs.set(name, spec);
    const ref = this.#refs.get(name);
    if (ref === undefined) this.#refs.set(name, new ServerRef(name, spec.options, lazy, this.#refContext));
    else ref.adopt(spec.options, lazy);
  }

  async #reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<ReconfigureReport> {
    const config = 'config' in next ? next.config : await resolveServers(next.servers, {});
    const names = new Set(config.servers.map(({ name }) => name));
    for (const [name, ref] of this.#refs) {
      if (names.has(name)) continue;
      ref.abandon('CLOSED', 'its server was removed from the configuration');
      this.#refs.delete(name);
      this.#specs.delete(name);
      const removed = this.#catalog.ofServer(name).map((tool) => tool.name);
      if (!this.#catalog.delete(name)) continue;
      const { revision } = this.#catalog.revision;
      this.#events.emit('tools', { server: name, revision, count: 0, added: [], removed, changed: [] });
    }
    this.#config = config;
    for (const { name, spec } of config.servers) this.#adopt(name, spec);
    const diff = await this.#control('configure', [[...this.#specs.values()]]);
    for (const name of diff.changed) this.#refs.get(name)?.replacing();
    return { ...diff, problems: config.problems.map(formatProblem) };
  }

  async #drain(ref: ServerRef, timeoutMs = this.#limits.drainTimeoutMs): Promise<void> {
    await this.#control('drain', [ref.name, timeoutMs], timeoutMs + this.#ladderMs());
  }

  #ref(name: string): ServerRef {
    const ref = this.#refs.get(name);
    if (ref !== undefined) return ref;
    const rejected = this.#config.rejected.find((entry) => entry.name === name);
    const why =
      rejected === undefined
        ? `known: ${[...this.#refs.keys()].join(', ') || 'none'}`
        : `its entry was skipped: ${formatProblem(rejected.problem)}`;
    throw new BulkheadError('UNKNOWN_SERVER', `there is no server "${name}"; ${why}`, { server: name });
  }

  #unknownTool(fullName: string): BulkheadError {
    const late = [...this.#refs.values()]
      .filter((ref) => ref.state !== 'ready')
      .map((ref) => `${ref.name} (${ref.state})`);
    const hint = late.length === 0 ? '' : `; not ready yet: ${late.join(', ')}`;
    return new BulkheadError('UNKNOWN_TOOL', `there is no tool "${fullName}"${hint}`, { tool: fullName });
  }

  #unknownRawTool(server: string, tool: string): BulkheadError {
    const names = this.#catalog.ofServer(server).map((known) => known.name);
    const shown = names.slice(0, 20).join(', ');
    return new BulkheadError(
      'UNKNOWN_TOOL',
      `server "${server}" has no tool "${tool}"; it has: ${shown || 'none'}${names.length > 20 ? ', …' : ''}`,
      { server, tool },
    );
  }

  /** @throws {BulkheadError} what the supervisor answered; `INTERNAL` when it did not. */
  #control<K extends keyof SupervisorControl & string>(
    method: K,
    args: Parameters<SupervisorControl[K]>,
    timeoutMs: number = CONTROL_MS,
  ) {
    return this.#link.control.call<K>(method, args as never, { timeoutMs });
  }

  #startSupervisor(): SupervisorLink {
    return new SupervisorLink(
      this.#board,
      this.#init,
      (notice) => this.#heard(notice),
      (message) => this.#supervisorLost(message),
    );
  }

  #heard(notice: SupervisorNotice): void {
    switch (notice.type) {
      case 'port': {
        const ref = this.#refs.get(notice.server);
        if (ref === undefined) notice.port.close();
        else ref.connect(notice);
        return;
      }
      case 'state': {
        const ref = this.#refs.get(notice.server);
        if (ref === undefined) return;
        ref.moved(notice);
        if (notice.state === 'ready') void this.#wishes.get(notice.server)?.repeat(this.#request(ref));
        const { server, state, generation, reason } = notice;
        this.#events.emit('state', {
          server,
          state,
          generation,
          ...(reason === undefined ? {} : { reason }),
        });
        return;
      }
      case 'catalog':
        if (!this.#refs.has(notice.server)) return;
        this.#listed(notice);
        return;
      case 'event':
        this.#told(notice.server, notice.event);
        return;
      case 'removed':
        return;
      case 'warning':
        this.#warn({
          message: notice.message,
          ...(notice.server === undefined ? {} : { server: notice.server }),
        });
        return;
      default:
        notice satisfies never;
    }
  }

  /** The first warnings come before anybody can listen: they are kept for the first listener. */
  #warn(warning: RuntimeEvents['warning'][0]): void {
    if (this.#events.listenerCount('warning') > 0) this.#events.emit('warning', warning);
    else if (this.#earlyWarnings.length < 100) this.#earlyWarnings.push(warning);
  }

  #listed({ server, catalog }: Extract<SupervisorNotice, { type: 'catalog' }>): void {
    const diff = this.#catalog.set(server, catalog);
    if (isEmpty(diff)) return;
    const { revision } = this.#catalog.revision;
    this.#events.emit('tools', { server, revision, count: catalog.tools.length, ...diff });
  }

  #told(server: string, { name, params }: ServerEvent): void {
    switch (name) {
      case 'log': {
        const { level, logger, data } = params;
        const source = typeof logger === 'string' ? { logger } : {};
        this.#events.emit('log', { server, level: String(level), ...source, data });
        return;
      }
      case 'resource':
        this.#events.emit('resource', { server, uri: String(params.uri) });
        return;
      case 'renewed': {
        const ref = this.#refs.get(server);
        if (ref !== undefined) void this.#wishes.get(server)?.repeat(this.#request(ref));
        return;
      }
      case 'resources':
      case 'prompts':
        this.#events.emit(name, { server });
        return;
      default:
        name satisfies never;
    }
  }

  /** Everything in flight ends, the groups on the board are killed, and a new supervisor starts, at most twice in 60 s. */
  #supervisorLost(message: string): void {
    killByBoard(this.#board);
    this.#board.clear();
    for (const ref of this.#refs.values()) ref.abandon('SUPERVISOR_LOST', message);
    const at = now();
    this.#losses = [...this.#losses.filter((lossAt) => at - lossAt < 60_000), at];
    const restarts = this.#losses.length;
    this.#events.emit('supervisor-lost', { error: { code: 'SUPERVISOR_LOST', message }, restarts });
    if (this.#closing !== undefined) return;
    if (restarts > 2) {
      const reason: Reason = {
        kind: 'supervisor',
        message: `${message}; it was restarted twice within 60 s already`,
      };
      for (const ref of this.#refs.values()) {
        ref.moved({
          type: 'state',
          server: ref.name,
          generation: ref.generation,
          state: 'quarantined',
          reason,
        });
      }
      return;
    }
    for (const ref of this.#refs.values()) ref.reborn();
    this.#link = this.#startSupervisor();
    this.begin().catch(() => {}); // a supervisor that dies again reports itself
  }

  /** Longest way down the kill ladder, with room for the control call itself. */
  #ladderMs(): number {
    const { eofGraceMs, termGraceMs, killGraceMs, terminateGraceMs } = this.#limits;
    return eofGraceMs + 2 * termGraceMs + 2 * killGraceMs + terminateGraceMs + CONTROL_MS;
  }

  #count(by: 1 | -1): void {
    this.#pending += by;
    if (this.#pending === 1 && by === 1) {
      // Referenced: a program that awaits a call must not run out of events.
      this.#sweep ??= setInterval(() => {
        const at = now();
        for (const ref of this.#refs.values()) ref.sweep(at);
      }, this.#limits.sweepMs);
      this.#sweep.ref();
    } else if (this.#pending === 0) {
      this.#sweep?.unref();
    }
  }

  async #close(deadlineMs: number): Promise<CloseReport> {
    const startedAt = now();
    for (const ref of this.#refs.values()) ref.abandon('CLOSED', 'the runtime was closed');
    let report: CloseReport;
    try {
      report = await this.#control('shutdown', [deadlineMs], deadlineMs + CONTROL_MS);
    } catch {
      // No supervisor to ask: the board is the last word.
      const pids = this.#board.pids();
      killByBoard(this.#board);
      report = {
        servers: [...this.#refs.values()].map((ref) => ({ name: ref.name, finalState: 'lost', pids: [] })),
        lostThreads: 0,
        tookMs: now() - startedAt,
      };
      if (pids.length > 0) report.servers[0]?.pids.push(...pids.map((pid) => ({ pid, gone: false })));
    }
    await Promise.all([this.#link.end(), this.#pool.close()]);
    clearInterval(this.#sweep);
    atExit.delete(this.#onExit);
    rmSync(this.#init.runDir, { recursive: true, force: true });
    this.#events.emit('state', { server: '', state: 'stopped', generation: 0 });
    this.#events.removeAllListeners();
    return report;
  }
}

function isSettled(ref: ServerRef): boolean {
  if (ref.startAsked) return false;
  if (ref.state === 'stopped') return !ref.lazy && ref.generation > 0;
  return ref.state === 'ready' || resting(ref.state);
}
