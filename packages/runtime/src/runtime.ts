/**
 * The runtime of the thread that made it: it owns the supervisor thread, the configuration and the end of everything.
 * What it shares with attached agents stands in `agent-runtime.ts`; threads, processes and bytes are elsewhere.
 */
import { rmSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
import {
  type AgentControl,
  answer,
  Board,
  BulkheadError,
  type CloseReport,
  type Control,
  now,
  type Reason,
  type ServerSpec,
  type SupervisorControl,
  type SupervisorNotice,
  serverDefaults,
} from '@bulkhead/workers';
import type { ServerTrust } from './agent/tool.js';
import type { Findings, OwnerControl } from './agent-messages.js';
import { AgentRuntime } from './agent-runtime.js';
import type { ReconfigureReport, RuntimeOptions, RuntimeStatus, ServerEntryInput } from './api.js';
import type { ApprovalDesk } from './approval-desk.js';
import { AttachedAgents } from './attached-agents.js';
import { resolveServers } from './config/load.js';
import { formatProblem, type LoadedConfig } from './config/types.js';
import { answerFor } from './forwarded-asks.js';
import { OwnGate } from './gate.js';
import { limitsFrom } from './limits.js';
import type { Books } from './log-and-audit.js';
import type { Logger } from './logging/logger.js';
import { cacheDir, makeLogDir, makeRunDir, stateDir } from './places.js';
import { recordFile } from './recording-file.js';
import { HANDLE_FORMAT, type RuntimeHandle } from './runtime-handle.js';
import { CONTROL_MS } from './server-commands.js';
import { SpillPlace } from './spill.js';
import { killByBoard, type LinkInit, SupervisorLink } from './supervisor-link.js';
import type { MakeTelemetry } from './telemetry/open.js';

/** What every open runtime does when the program ends without closing it; one listener of `process` for all of them. */
const atExit = new Set<() => void>();
process.on('exit', () => {
  for (const end of atExit) end();
});

/** Supervisors that may be lost within {@link LOSS_SPAN_MS} before the runtime gives up. */
const MAX_LOSSES = 2;
const LOSS_SPAN_MS = 60_000;

/** Who follows what the runtime does; undefined where nobody asked for it. */
export interface Onlookers {
  telemetry: MakeTelemetry | undefined;
  books: Books | undefined;
}

/** A runtime and its servers. Made by `createRuntime()`; whoever made it closes it. */
export class Runtime extends AgentRuntime {
  #config: LoadedConfig;
  #reconfiguring: Promise<unknown> = Promise.resolve();
  readonly #init: LinkInit;
  readonly #specs = new Map<string, ServerSpec>();
  readonly #approvals: ApprovalDesk;
  #trust: ReadonlyMap<string, ServerTrust> = new Map();
  readonly #agents: AttachedAgents;
  readonly #spills: SpillPlace;
  readonly #books: Books | undefined;
  #link: SupervisorLink;
  #losses: number[] = [];
  /** Why no supervisor is started any more. */
  #givenUp: Reason | undefined;
  #closing: Promise<CloseReport> | undefined;
  readonly #onExit: () => void;

  /** @param config as `approvals` has reviewed it. */
  constructor(
    config: LoadedConfig,
    options: RuntimeOptions,
    approvals: ApprovalDesk,
    { telemetry, books }: Onlookers,
  ) {
    const limits = limitsFrom(options.limits ?? {});
    const { gate } = options;
    super({
      board: Board.create(limits.maxServers),
      limits,
      handlers: options.handlers ?? {},
      runDir: makeRunDir(),
      gate: gate === undefined ? undefined : (facts) => new OwnGate(gate, facts),
      witness: books?.witness,
      telemetry,
    });
    this.#books = books;
    if (books?.log !== undefined) this.events.observe(books.log.observer);
    books?.complainTo((message) => this.events.warn({ message }));
    this.#config = config;
    this.#approvals = approvals;
    this.#spills = new SpillPlace(options.spillDir);
    this.#init = {
      options: limits,
      clientInfo: options.clientInfo ?? { name: 'bulkhead', version: '0.1.0' },
      runDir: this.runDir,
      stateDir: stateDir(),
      cacheDir: cacheDir(),
      logDir: makeLogDir(options.logDir, options.config?.projectDir),
      transferBytes: limits.transferBytes,
      spillDir: this.#spills.directory,
      handlers: this.asks.offered,
      recordFile: options.record === undefined ? undefined : recordFile(options.record.file),
    };
    const serves: OwnerControl = {
      reconfigure: (next) => answer(() => this.reconfigure(next)),
      check: (call) => answer(() => this.passGate(call)),
      ask: (server, method, params) => {
        const { askTimeoutMs } = this.refs.get(server)?.options ?? serverDefaults;
        return answer(() => answerFor(this.asks, { server, method, params }, askTimeoutMs));
      },
    };
    this.#agents = new AttachedAgents(serves, books?.witness);
    this.#take(config);
    approvals.begin({
      warn: (warning) => this.events.warn(warning),
      decided: (name, decision) => books?.log?.decided(name, decision),
      release: (name, spec) => this.#release(name, spec),
    });
    this.#onExit = () => {
      killByBoard(this.board);
      rmSync(this.runDir, { recursive: true, force: true });
      this.#spills.remove();
    };
    atExit.add(this.#onExit);
    this.#link = this.#startSupervisor();
    void this.#spills.sweep();
  }

  /** What `createRuntime({logger})` writes to; undefined without one. */
  override get logger(): Logger | undefined {
    return this.#books?.log?.logger;
  }

  /** For the log: what there is to run. */
  tellStart(): void {
    this.#books?.log?.started(this.#config.servers);
  }

  /** Hands the servers to the supervisor, then the supervisor to the attached agents. */
  async begin(): Promise<void> {
    const { control } = this.#link;
    await this.#configure();
    if (control === this.#link.control) this.#agents.up(control);
  }

  /**
   * A handle for one other thread of this process, in which `attachRuntime(handle)` gives the same API over the same
   * sessions. Pass it once, with its `transfer` list, in a message or as `workerData`; Node refuses a second time.
   * @throws {BulkheadError} `CLOSED`; `SUPERVISOR_LOST` when no supervisor is started any more.
   */
  attach(): RuntimeHandle {
    if (this.over !== undefined) throw new BulkheadError('CLOSED', this.over);
    if (this.#givenUp !== undefined) throw new BulkheadError('SUPERVISOR_LOST', this.#givenUp.message);
    const { news, control } = this.#agents.admit();
    return {
      format: HANDLE_FORMAT,
      ownerThread: threadId,
      news,
      control,
      board: this.board.buffer,
      limits: this.limits,
      handlers: this.asks.offered,
      runDir: this.runDir,
      findings: this.findings(),
      gated: this.gated,
      witnessed: this.#books?.witness !== undefined,
      transfer: [news, control],
    };
  }

  /** Goes over to other servers: what is new starts, what changed restarts, what is gone ends, the rest is left alone. */
  reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<ReconfigureReport> {
    return this.#inTurn(() => this.#reconfigure(next));
  }

  /**
   * Lets a server start that rests as `needs-approval`. Does nothing for one that needs no approval or has it.
   * @param options `remember`: for later runs too, until its entry changes. Default true.
   * @throws {BulkheadError} `UNKNOWN_SERVER`; `INTERNAL` when the approval cannot be kept (the server starts all the same).
   */
  approve(name: string, options: { remember?: boolean } = {}): Promise<void> {
    return this.#inTurn(() => {
      this.server(name);
      return this.#approvals.approve(name, options.remember ?? true);
    });
  }

  /**
   * Takes an approval back: the server stops and rests as `needs-approval`, in later runs too.
   * @throws {BulkheadError} `UNKNOWN_SERVER`; `BAD_INPUT` for a server that needs no approval.
   */
  revoke(name: string): Promise<void> {
    return this.#inTurn(() => {
      this.server(name);
      return this.#approvals.revoke(name);
    });
  }

  /**
   * Ends all servers and threads; a second call joins the first.
   * @param options `deadlineMs`: what is not gone by then is killed; default `closeDeadlineMs`.
   * @returns every server's last state, and which pids are confirmed gone.
   */
  close(options: { deadlineMs?: number } = {}): Promise<CloseReport> {
    if (this.#closing !== undefined && options.deadlineMs !== undefined) {
      // In a greater hurry than the first time: the supervisor shortens its ladder.
      void this.#shutdown(options.deadlineMs).catch(() => {});
    }
    this.#closing ??= this.#close(options.deadlineMs ?? this.limits.closeDeadlineMs);
    return this.#closing;
  }

  /** How all servers stand; waits for the supervisor. @throws {BulkheadError} */
  override async status(): Promise<RuntimeStatus> {
    const { active, idle } = this.#link.loopUse();
    const supervisorLoop = {
      activeMs: active,
      idleMs: idle,
      delayMs: this.board.supervisorDelay() / 1_000,
    };
    return { ...(await super.status()), supervisorLoop };
  }

  protected supervisor(): Control<AgentControl> {
    return this.#link.control;
  }

  protected findings(): Findings {
    const { rejected, problems } = this.#config;
    return { rejected, problems, trust: this.#trust };
  }

  protected trustOf(server: string): ServerTrust | undefined {
    return this.#trust.get(server);
  }

  protected override transportOf(server: string): 'pipe' | 'tcp' | undefined {
    const type = this.#specs.get(server)?.launch.type;
    return type === undefined ? undefined : type === 'stdio' ? 'pipe' : 'tcp';
  }

  protected override awaitsApproval(server: string): boolean {
    return this.#approvals.isAsking(server);
  }

  protected override heard(notice: SupervisorNotice): void {
    const held = notice.type === 'state' && notice.state === 'needs-approval';
    // It was approved meanwhile: what the supervisor said before that is history.
    if (held && this.#specs.get(notice.server)?.held === undefined) return;
    if (notice.type === 'catalog') this.#books?.log?.listed(notice.server, notice.catalog.quarantined);
    super.heard(notice);
  }

  protected roster(): void {
    // told by this thread in the first place
  }

  // ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What changes the set of servers happens one after the other. */
  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#reconfiguring.then(act);
    this.#reconfiguring = turn.catch(() => {});
    return turn;
  }

  /** A decision about one server: it starts, or it is held with a new reason. */
  async #release(name: string, spec: ServerSpec): Promise<void> {
    const ref = this.refs.get(name);
    if (ref === undefined || this.over !== undefined) return;
    this.#specs.set(name, spec);
    const { generation } = ref;
    if (spec.held !== undefined) {
      // One that stood still already changes no state, so the supervisor would not tell the new reason.
      const { state, reason: message } = spec.held;
      if (ref.state === state)
        this.heard({ type: 'state', server: name, generation, state, reason: { kind: state, message } });
      else ref.replacing();
    } else {
      // From now on calls may wait for it.
      this.heard({ type: 'state', server: name, generation, state: 'stopped' });
      ref.startAsked = !ref.lazy;
    }
    await this.#configure();
  }

  #take(config: LoadedConfig): void {
    this.#books?.learn(config);
    this.#config = config;
    this.#trust = new Map(
      config.servers.map(({ name, trusted, confidential, approvalFingerprint }) => [
        name,
        { trusted, confidential, fingerprint: approvalFingerprint },
      ]),
    );
    for (const { name, spec } of config.servers) {
      this.#specs.set(name, spec);
      this.adopt(name, spec.options, spec.lifecycle === 'lazy' || spec.idleStopMs > 0);
    }
  }

  #configure() {
    const specs = [...this.#specs.values()];
    return this.#control('configure', [specs], CONTROL_MS);
  }

  #shutdown(deadlineMs: number): Promise<CloseReport> {
    return this.#control('shutdown', [deadlineMs], deadlineMs + CONTROL_MS);
  }

  /** @throws {BulkheadError} what the supervisor answered; `INTERNAL` when it did not. */
  #control<K extends 'configure' | 'shutdown'>(
    method: K,
    args: Parameters<SupervisorControl[K]>,
    timeoutMs: number,
  ) {
    return this.#link.control.call<K>(method, args as never, { timeoutMs });
  }

  async #reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<ReconfigureReport> {
    const wanted = 'config' in next ? next.config : resolveServers(next.servers, {});
    const config = await this.#approvals.review(wanted);
    const names = new Set(config.servers.map(({ name }) => name));
    for (const ref of [...this.refs.values()]) {
      if (names.has(ref.name)) continue;
      this.#specs.delete(ref.name);
      this.discard(ref);
    }
    this.#take(config);
    this.#agents.tell({ type: 'findings', findings: this.findings() });
    const diff = await this.#configure();
    for (const name of diff.changed) this.refs.get(name)?.replacing();
    this.#approvals.ask();
    const report = { ...diff, problems: config.problems.map(formatProblem) };
    this.#books?.log?.reconfigured(report, config.servers);
    return report;
  }

  #startSupervisor(): SupervisorLink {
    return new SupervisorLink(
      this.board,
      this.#init,
      (notice) => this.heard(notice),
      (message) => this.#supervisorLost(message),
    );
  }

  /** Everything in flight ends, the groups on the board are killed, and a new supervisor starts, at most twice in 60 s. */
  #supervisorLost(message: string): void {
    killByBoard(this.board);
    this.board.clear();
    this.abandonAll('SUPERVISOR_LOST', message);
    const at = now();
    this.#losses = [...this.#losses.filter((lossAt) => at - lossAt < LOSS_SPAN_MS), at];
    const restarts = this.#losses.length;
    if (restarts > MAX_LOSSES) {
      this.#givenUp = {
        kind: 'supervisor',
        message: `${message}; it was restarted twice within 60 s already`,
      };
    }
    this.#agents.lost(message, restarts, this.#givenUp);
    this.events.emit('supervisor-lost', { error: { code: 'SUPERVISOR_LOST', message }, restarts });
    if (this.over !== undefined) return;
    if (this.#givenUp !== undefined) {
      for (const ref of this.refs.values()) {
        const { name: server, generation } = ref;
        ref.moved({ type: 'state', server, generation, state: 'quarantined', reason: this.#givenUp });
      }
      return;
    }
    for (const ref of this.refs.values()) ref.reborn();
    this.#link = this.#startSupervisor();
    this.begin().catch(() => {}); // a supervisor that dies again reports itself
  }

  async #close(deadlineMs: number): Promise<CloseReport> {
    const startedAt = now();
    this.over = 'the runtime is closed';
    this.#approvals.close();
    this.#agents.close('the runtime was closed by the thread that owns it');
    this.abandonAll('CLOSED', 'the runtime was closed');
    let report: CloseReport;
    try {
      report = await this.#shutdown(deadlineMs);
    } catch {
      // No supervisor to ask: the board is the last word.
      const pids = this.board.pids();
      killByBoard(this.board);
      report = {
        servers: [...this.refs.values()].map((ref) => ({ name: ref.name, finalState: 'lost', pids: [] })),
        lostThreads: 0,
        tookMs: now() - startedAt,
      };
      if (pids.length > 0) report.servers[0]?.pids.push(...pids.map((pid) => ({ pid, gone: false })));
    }
    await this.#link.end();
    this.#agents.end();
    this.#books?.log?.closed(report);
    await this.#books?.close();
    atExit.delete(this.#onExit);
    rmSync(this.runDir, { recursive: true, force: true });
    this.#spills.remove();
    await this.release(this.over);
    return report;
  }
}
