/**
 * One server's life, as one loop in the order it happens: gate → thread → process → handshake → ready → end → kill →
 * backoff. There is one loop per child, so a start and a stop can never overlap; commands only say what is wanted and
 * wake the loop. Policy (restart, transitions, watchdog) is pure and lies beside this file.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Board } from '../board.js';
import { now } from '../clock.js';
import { MAX_TIMER_MS } from '../defaults.js';
import { BulkheadError } from '../errors.js';
import {
  type HandlerSet,
  type Launch,
  type OpenAs,
  type Reason,
  type ServerCatalog,
  type ServerExit,
  type ServerNotice,
  type ServerSpec,
  type ServerState,
  type ServerStatus,
  type SupervisorNotice,
  type SupervisorOptions,
  serverStates,
} from '../protocol.js';
import { describeEnd } from '../server/describe-end.js';
import type { EraCache } from '../server/era-cache.js';
import type { CatalogCache } from './catalog-cache.js';
import type { StartGate } from './gate.js';
import { helperHeaders } from './headers-helper.js';
import { ServerProcess } from './process.js';
import { becameReady, failed, initial, type RestartState, released } from './restart.js';
import type { Spares } from './spares.js';
import { StderrLog } from './stderr-log.js';
import { ServerThreadHandle } from './thread.js';
import { canMove } from './transitions.js';

/** What the supervisor lends to each of its children. */
export interface ChildContext {
  board: Board;
  options: SupervisorOptions;
  gate: StartGate;
  clientInfo: { name: string; version: string; title?: string };
  runDir: string;
  logDir: string;
  /** Where threads come from: the one that waits, or a new one. */
  spares: Spares;
  transferBytes: number;
  spillDir: string;
  handlers: HandlerSet;
  recordFile: string | undefined;
  /** Tells every attached agent. */
  tell: (notice: SupervisorNotice) => void;
  /** Gives each attached agent its own data port to this generation; calls `add` once per agent. */
  connectAgents: (child: Child, add: (port: MessagePort, sent: SharedArrayBuffer) => void) => void;
  /** Records a process group beyond this process's own life: guard and run file. */
  groups: { add: (pgid: number) => void; remove: (pgid: number) => void };
  catalogs: CatalogCache;
  eras: EraCache;
  random: () => number;
}

/** Why a generation is over. `command`: somebody wanted it so. */
type End =
  | { by: 'command' }
  /** The server ended on the question for its era: once more without it, which is no failure. */
  | { by: 'probe' }
  | { by: 'failure'; reason: Reason; threadHealthy: boolean; beforeHandshake: boolean; errno?: string };

/** How often a start is looked at while a person signs in. */
const ASKING_LOOK_MS = 5_000;
/** A remote session is ended by a request; its server may be away. */
const GOODBYE_MS = 1_500;
/** How often a draining server is looked at. */
const DRAIN_LOOK_MS = 20;
/** How long a broken connection may wait for the exit that explains it. */
const EXIT_GRACE_MS = 2_000;

/** For what a remote server does not have. */
const NEVER = new Promise<never>(() => {});

const COMMAND: End = { by: 'command' };

export class Child {
  readonly slot: number;
  readonly #context: ChildContext;
  readonly #log: StderrLog;
  #spec: ServerSpec;
  #state: ServerState = 'stopped';
  #since = now();
  #reason: Reason | undefined;
  #wanted: 'up' | 'down' = 'up';
  #askingSince: number | undefined;
  /** Set while a person has to sign in first. */
  #authReason: Reason | undefined;
  #stopReason: Reason | undefined;
  #restartAsked = false;
  /** This server ends when it is asked for its era. */
  #diedOfProbe = false;
  #removed = false;
  #generation = 0;
  #spawns = 0;
  #restarts = 0;
  #lostThreads = 0;
  #restart: RestartState = initial();
  #nextTryAt: number | undefined;
  #thread: ServerThreadHandle | undefined;
  #process: ServerProcess | undefined;
  #pids = new Map<number, boolean>();
  #catalog: ServerCatalog | undefined;
  #catalogIsCached = false;
  #revision = 0;
  #warnings: string[] = [];
  #wake: () => void = () => {};
  #woken: Promise<void> = Promise.resolve();
  #stateWaiters = new Set<() => void>();
  #watchdogDead: (reason: Reason) => void = () => {};
  #sessionClosed: (reason: Reason) => void = () => {};
  readonly done: Promise<void>;

  constructor(spec: ServerSpec, slot: number, context: ChildContext) {
    this.#spec = spec;
    this.slot = slot;
    this.#context = context;
    this.#log = new StderrLog(context.logDir, `${fileNameOf(spec.name)}.log`, spec.options.logMaxBytes);
    if (spec.lifecycle === 'lazy') this.#wanted = 'down';
    if (sleeps(spec)) this.#rememberCatalog();
    this.#rearm();
    this.done = this.#live();
  }

  get name(): string {
    return this.#spec.name;
  }
  get spec(): ServerSpec {
    return this.#spec;
  }
  get state(): ServerState {
    return this.#state;
  }
  get generation(): number {
    return this.#generation;
  }
  get thread(): ServerThreadHandle | undefined {
    return this.#thread;
  }
  get lostThreads(): number {
    return this.#lostThreads;
  }

  // ── commands: each says what is wanted and wakes the loop ───────────────────────────────────────────────────────

  /** Starts a stopped server; tries at once one that waits in backoff or quarantine. */
  start(): void {
    const waiting =
      this.#state === 'quarantined' || this.#state === 'backoff' || this.#state === 'needs-auth';
    if (this.#wanted === 'up' && !waiting) return;
    this.#wanted = 'up';
    this.#authReason = undefined;
    this.#stopReason = undefined;
    this.#restart = released(this.#restart);
    this.#wake();
  }

  /** `idle` stops may be undone by the next call, stops by hand may not. */
  async stop(kind: 'user' | 'idle' = 'user'): Promise<ServerExit> {
    this.#wanted = 'down';
    this.#stopReason =
      kind === 'user' ? { kind, message: 'stopped by hand' } : { kind, message: 'stopped after idleness' };
    this.#wake();
    await this.#until(() => this.#resting());
    return this.exitReport();
  }

  /** Takes no new calls, lets those in flight end (at most `timeoutMs`), then stops. */
  async drain(timeoutMs: number): Promise<ServerExit> {
    if (this.#state === 'ready') {
      this.#move('draining');
      const until = now() + timeoutMs;
      const draining = () => this.state === 'draining' && now() < until;
      // The board is the only place where every agent's calls are counted; it has no event.
      while (draining() && this.#context.board.get(this.slot, 'inFlight') > 0) {
        await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
      }
    }
    return this.stop();
  }

  /** A fresh generation: thread and process both. Also releases from quarantine. */
  restart(): void {
    this.#wanted = 'up';
    this.#authReason = undefined;
    this.#restart = released(this.#restart);
    this.#restartAsked = true;
    this.#wake();
  }

  /** Takes a changed spec; the running generation is replaced. */
  reconfigure(spec: ServerSpec): void {
    const asleep = this.#wanted === 'down' && spec.lifecycle === 'lazy';
    this.#spec = spec;
    if (!asleep) this.restart();
    else this.#wake();
  }

  setDisabled(disabled: boolean): void {
    if (this.#spec.disabled === disabled) return;
    this.#spec = { ...this.#spec, disabled };
    if (!disabled) this.#wanted = 'up';
    this.#wake();
  }

  /** Stops for good; `done` resolves when nothing of it is left (or it is lost). */
  remove(): void {
    this.#removed = true;
    this.#wanted = 'down';
    this.#wake();
  }

  /** No more grace: SIGKILL to the group now; the loop's ladder finds it gone. */
  killNow(): void {
    void this.#process?.kill(0);
  }

  /** The watchdog's verdict on this generation. */
  declareDead(reason: Reason): void {
    this.#watchdogDead(reason);
  }

  warn(message: string): void {
    if (this.#warnings.includes(message)) return;
    this.#warnings = [...this.#warnings.slice(-19), message];
    this.#context.tell({ type: 'warning', server: this.name, message });
  }

  // ── reports ─────────────────────────────────────────────────────────────────────────────────────────────────────

  exitReport(): ServerExit {
    return {
      name: this.name,
      finalState: this.#state,
      pids: [...this.#pids].map(([pid, gone]) => ({ pid, gone })),
    };
  }

  status(): ServerStatus {
    const status: ServerStatus = {
      name: this.name,
      state: this.#state,
      generation: this.#generation,
      transport: this.#spec.launch.type,
      tools: this.#catalog?.tools.length ?? 0,
      quarantinedTools: this.#catalog?.quarantined ?? [],
      spawns: this.#spawns,
      restarts: this.#restarts,
      since: this.#since,
      logFile: this.#log.file,
      warnings: [...this.#warnings, ...(this.#catalog?.warnings ?? [])],
      skippedLines: this.#context.board.get(this.slot, 'skipped'),
    };
    if (this.#reason !== undefined) status.reason = this.#reason;
    if (this.#process !== undefined) status.pid = this.#process.pid;
    if (this.#nextTryAt !== undefined) status.nextTryMs = Math.max(0, this.#nextTryAt - now());
    if (this.#catalog !== undefined) {
      status.protocolVersion = this.#catalog.protocolVersion;
      status.serverInfo = this.#catalog.serverInfo;
    }
    return status;
  }

  /** What a newly attached agent must know. */
  introduce(tell: (notice: SupervisorNotice) => void): void {
    if (this.#catalog !== undefined) tell(this.#catalogNotice(this.#catalog));
    tell(this.#stateNotice());
  }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────────

  async #live(): Promise<void> {
    for (;;) {
      const rest = this.#restingState();
      if (rest !== undefined) {
        await this.#endGeneration('stopping');
        if (this.#removed) break;
        this.#move(rest.state, rest.reason);
        await this.#woken;
        this.#rearm();
        continue;
      }
      if (this.#restartAsked) {
        this.#restartAsked = false;
        await this.#endGeneration('stopping');
      }
      const end = await this.#generate();
      if (end.by === 'command') continue;
      if (end.by === 'probe') {
        await this.#endProcess();
        continue;
      }
      await this.#recover(end);
    }
    this.#move('stopped');
    await this.#log.close();
  }

  #restingState(): { state: ServerState; reason?: Reason } | undefined {
    if (this.#removed) return { state: 'stopped' };
    if (this.#spec.disabled) {
      return {
        state: 'disabled',
        reason: { kind: 'disabled', message: 'disabled in the configuration or by hand' },
      };
    }
    if (this.#authReason !== undefined) return { state: 'needs-auth', reason: this.#authReason };
    const held = this.#spec.held;
    if (held !== undefined) return { state: held.state, reason: { kind: held.state, message: held.reason } };
    if (this.#wanted === 'down') {
      return this.#stopReason === undefined
        ? { state: 'stopped' }
        : { state: 'stopped', reason: this.#stopReason };
    }
    return undefined;
  }

  #resting(): boolean {
    const resting: readonly ServerState[] = ['stopped', 'disabled', 'needs-approval', 'needs-auth'];
    return resting.includes(this.#state);
  }

  /** From the gate to the end of one connection. Uses the living thread if there is one (reconnect). */
  async #generate(): Promise<End> {
    const abort = new AbortController();
    let release: (() => void) | undefined;
    if (this.#thread?.gone) await this.#endGeneration('stopping'); // it died while it waited for its next server
    const reconnect = this.#thread !== undefined;
    const steps = (async (): Promise<End> => {
      release = await this.#context.gate.enter(this.#spawns === 0 ? 'first' : 'retry', abort.signal);
      if (abort.signal.aborted) return COMMAND;
      const holdTimer = setTimeout(() => release?.(), this.#context.options.gateHoldMs);
      try {
        return await this.#connectAndServe(reconnect, () => release?.());
      } finally {
        clearTimeout(holdTimer);
      }
    })();
    const end = await Promise.race([steps, this.#woken.then(() => COMMAND)]);
    if (end.by === 'command') {
      this.#rearm();
      abort.abort();
      await this.#interrupt();
      await steps.catch(() => {}); // it ends because what it waits for was taken away
    }
    release?.();
    return end;
  }

  async #connectAndServe(reconnect: boolean, started: () => void): Promise<End> {
    const { options } = this.#context;
    const startedAt = now();
    const deadlineAt = startedAt + this.#spec.options.startupTimeoutMs;
    let handshaken = false;
    const over = new AbortController();
    let exited: Promise<End | undefined> = Promise.resolve(undefined);
    let threadGone: Promise<End | undefined> = Promise.resolve(undefined);
    try {
      // A stop by hand is no reason any more; a failure is, until the server is well again.
      if (this.#reason?.kind === 'user' || this.#reason?.kind === 'idle') this.#reason = undefined;
      this.#move(reconnect ? 'reconnecting' : 'starting');
      this.#log.clearTail();
      const thread = this.#thread ?? this.#newThread();
      const watchdog = new Promise<End>((resolve) => {
        this.#watchdogDead = (reason) =>
          resolve({ by: 'failure', reason, threadHealthy: false, beforeHandshake: !handshaken });
      });
      const threadEnd = thread.ended.then((end): End => {
        if (end.kind === 'memory') this.#context.spares.drop();
        return {
          by: 'failure',
          reason: { kind: end.kind === 'memory' ? 'memory' : 'thread', message: end.message },
          threadHealthy: false,
          beforeHandshake: !handshaken,
        };
      });
      threadGone = threadEnd;
      const closed = new Promise<End>((resolve) => {
        this.#sessionClosed = (reason) =>
          resolve({ by: 'failure', reason, threadHealthy: true, beforeHandshake: !handshaken });
      });
      const opened = this.#open(thread, deadlineAt);
      const died = opened.process.then((process) => process.ended);
      const exit = died.then(
        (end): End => ({
          by: 'failure',
          reason: {
            kind: 'exit',
            message: describeEnd(end),
            exitCode: end.code,
            signal: end.signal,
            stderr: end.stderr,
          },
          threadHealthy: true,
          beforeHandshake: !handshaken,
        }),
      );
      exited = exit.catch(() => undefined);
      // The thread first settles what was sent, with this cause; only then is the connection over.
      const processEnd = died.then(async (end) => {
        await thread.control.call('processEnded', [end], { timeoutMs: 2_000 }).catch(() => {});
        return exit;
      });
      processEnd.catch(() => {});
      const ends = [watchdog, threadEnd];
      const first = await Promise.race([
        opened.catalog.then((catalog) => ({ by: 'ready' as const, catalog })),
        this.#startLimit(deadlineAt, over.signal).then((): End => this.#startTimeout()),
        processEnd,
        ...ends,
      ]);
      started();
      if (first.by !== 'ready') return first;
      handshaken = true;
      this.#publishCatalog(first.catalog);
      this.#context.eras.remember(this.#spec.fingerprint, isModern(first.catalog) ? 'modern' : 'legacy');
      this.#restart = becameReady(this.#restart, now());
      this.#move('ready');
      this.#context.spares.refill();
      // The socket's end usually comes just before the exit that explains it: prefer the exit.
      const closedLast = closed.then(async (end) => {
        if (this.#spec.launch.type !== 'stdio') return end;
        const exit = await Promise.race([processEnd, wait(options.eofGraceMs, over.signal)]);
        return exit ?? end;
      });
      return await Promise.race([processEnd, closedLast, ...ends]);
    } catch (error) {
      started();
      const failure = this.#startFailure(error);
      // Session and supervisor keep the same limit; whoever is first, it is told in one way.
      if (failure.reason.kind === 'start-timeout') return this.#startTimeout();
      if (failure.reason.kind === 'probe-exit' && !this.#diedOfProbe) {
        this.#diedOfProbe = true;
        return { by: 'probe' };
      }
      if (failure.reason.kind === 'internal') {
        // A thread's port closes before the thread ends: what ended it (its memory, say) is the better reason.
        return (await Promise.race([threadGone, wait(EXIT_GRACE_MS, over.signal)])) ?? failure;
      }
      if (failure.reason.kind !== 'closed' || this.#spec.launch.type !== 'stdio') return failure;
      // A connection that ends usually means that the process died: how it died is the better reason.
      return (await Promise.race([exited, wait(EXIT_GRACE_MS, over.signal)])) ?? failure;
    } finally {
      over.abort();
    }
  }

  /** Starts or reaches what the launch names and opens the session; both promises settle on their own. */
  #open(
    thread: ServerThreadHandle,
    deadlineAt: number,
  ): { process: Promise<ServerProcess>; catalog: Promise<ServerCatalog> } {
    const { launch } = this.#spec;
    const left = () => Math.max(1, deadlineAt - now());
    const openAs = this.#openAs();
    const online = thread.online();
    // A remote server has no process, so this promise stays open: its end is told by the session.
    const process = launch.type === 'stdio' ? this.#spawn(thread, online, launch, left) : NEVER;
    const catalog = (launch.type === 'stdio' ? process : online).then(async () => {
      this.#move('connecting');
      // While a person signs in the limit above is the only one that counts.
      const { askTimeoutMs } = this.#spec.options;
      const mayAsk = launch.type !== 'stdio' && this.#context.handlers.authorize;
      const timeoutMs = left() + (mayAsk ? askTimeoutMs : 0);
      const limit = { timeoutMs: timeoutMs + 1_000 };
      if (launch.type === 'stdio') return thread.control.call('open', [timeoutMs, openAs], limit);
      this.#countSpawn(launch.type);
      return thread.control.call('connect', [await this.#withHeaders(launch), timeoutMs, openAs], limit);
    });
    process.catch(() => {});
    catalog.catch(() => {});
    return { process, catalog };
  }

  async #withHeaders<L extends Exclude<Launch, { type: 'stdio' }>>(launch: L): Promise<L> {
    const { helper, url } = launch;
    if (helper === undefined) return launch;
    const fresh = await helperHeaders(helper, { name: this.name, url });
    const names = new Set(fresh.map(([name]) => name.toLowerCase()));
    return {
      ...launch,
      headers: [...launch.headers.filter(([name]) => !names.has(name.toLowerCase())), ...fresh],
    };
  }

  async #spawn(
    thread: ServerThreadHandle,
    online: Promise<void>,
    launch: Extract<Launch, { type: 'stdio' }>,
    left: () => number,
  ): Promise<ServerProcess> {
    await online;
    const path = `${this.#context.runDir}/${this.slot}-${this.#generation}-${this.#spawns}.sock`;
    await thread.control.call('listen', [path, this.#openAs()], { timeoutMs: left() });
    this.#countSpawn(launch.command);
    this.#process = await ServerProcess.spawn(launch, path, this.#log, (pid) => {
      this.#pids.set(pid, false);
      this.#context.board.set(this.slot, 'pid', pid);
      this.#context.groups.add(pid);
    });
    return this.#process;
  }

  #countSpawn(what: string): void {
    this.#spawns++;
    if (this.#spawns > 1) this.#restarts++;
    this.#log.note(`generation ${this.#generation}, start ${this.#spawns}: ${what}`, new Date());
  }

  /** Which era to speak: a server that is known to be of the older one is not asked again. */
  #openAs(): OpenAs {
    const { protocol = 'auto', fingerprint } = this.#spec;
    if (protocol !== 'auto') return protocol;
    return this.#diedOfProbe || this.#context.eras.isLegacy(fingerprint) ? 'legacy-first' : 'auto';
  }

  #newThread(): ServerThreadHandle {
    this.#generation++;
    const { board, options, clientInfo, transferBytes, spillDir, handlers, recordFile } = this.#context;
    board.set(this.slot, 'generation', this.#generation);
    const thread = new ServerThreadHandle(
      this.#context.spares.thread(),
      {
        name: this.name,
        slot: this.slot,
        generation: this.#generation,
        board: board.buffer,
        options: this.#spec.options,
        clientInfo,
        heartbeatMs: options.heartbeatMs,
        transferBytes,
        spillDir,
        handlers,
        recordFile,
      },
      (notice) => this.#heard(notice),
    );
    this.#thread = thread;
    this.#context.connectAgents(this, (port, sent) => this.addAgent(port, sent));
    return thread;
  }

  /** One more agent thread: its data port goes straight to the server thread. */
  addAgent(port: MessagePort, sent: SharedArrayBuffer): void {
    this.#thread?.control
      .call('addPort', [port, sent], { timeoutMs: 10_000, transfer: [port] })
      .catch(() => {});
  }

  #heard(notice: ServerNotice): void {
    switch (notice.type) {
      case 'catalog':
        this.#publishCatalog(notice.catalog);
        return;
      case 'event':
        this.#context.tell({ type: 'event', server: this.name, event: notice.event });
        return;
      case 'renewed':
        this.#context.tell({ type: 'event', server: this.name, event: { name: 'renewed', params: {} } });
        return;
      case 'asking':
        this.#askingSince = notice.open ? now() : undefined;
        return;
      case 'closed':
        this.#sessionClosed(notice.reason);
        return;
      case 'warning':
        this.warn(notice.message);
        return;
      case 'online':
        return;
      default:
        notice satisfies never;
    }
  }

  // ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** After a failure: clean up, then let the policy decide between backoff and quarantine. */
  async #recover(end: Extract<End, { by: 'failure' }>): Promise<void> {
    this.#reason = end.reason;
    if (end.reason.kind === 'auth') {
      this.#authReason = end.reason;
      return;
    }
    const failedAt = now(); // before the ladder: the time of killing is not health
    if (end.threadHealthy) await this.#endProcess();
    else await this.#endGeneration('killing');
    const { state, decision } = failed(this.#restart, {
      now: failedAt,
      kind: end.reason.kind,
      ...(end.errno === undefined ? {} : { errno: end.errno }),
      beforeHandshake: end.beforeHandshake,
      random: this.#context.random(),
      options: this.#context.options,
    });
    this.#restart = state;
    const waitMs = decision.type === 'backoff' ? decision.waitMs : decision.trialMs;
    if (decision.type === 'quarantine') {
      await this.#endGeneration('killing');
      end.reason = { ...end.reason, message: `${end.reason.message} (${decision.reason})` };
    }
    this.#nextTryAt = now() + waitMs;
    this.#move(decision.type === 'backoff' ? 'backoff' : 'quarantined', end.reason);
    const woken = new AbortController();
    await Promise.race([wait(waitMs, woken.signal), this.#woken]);
    woken.abort();
    this.#nextTryAt = undefined;
    this.#rearm();
  }

  /** Takes away what the steps of a start wait for. */
  async #interrupt(): Promise<void> {
    await this.#endGeneration('stopping');
  }

  async #endGeneration(state: 'stopping' | 'killing'): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined && this.#process === undefined) return;
    this.#move(state);
    const healthy = state === 'stopping' && thread !== undefined && !thread.gone;
    // A thread that may be spinning goes first: the kernel then closes its socket, which is the server's EOF.
    if (!healthy && thread !== undefined) await this.#endThread(thread);
    if (healthy && this.#spec.launch.type !== 'stdio') {
      await thread.control.call('goodbye', [], { timeoutMs: GOODBYE_MS }).catch(() => {});
    }
    await this.#endProcess();
    if (healthy) await this.#endThread(thread);
    this.#thread = undefined;
  }

  async #endThread(thread: ServerThreadHandle): Promise<void> {
    if (!(await thread.terminate(this.#context.options.terminateGraceMs))) {
      this.#lostThreads++;
      this.#move('lost', { kind: 'lost', message: 'the server thread did not end when it was terminated' });
    }
  }

  async #endProcess(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    const gone = await process.end(() => {
      this.#thread?.control.call('endInput', [], { timeoutMs: 1_000 }).catch(() => {});
    }, this.#context.options);
    this.#pids.set(process.pid, gone);
    if (gone) {
      this.#context.board.set(this.slot, 'pid', 0);
      this.#context.groups.remove(process.pid);
    }
    // Only pids that are still there, and the last few that are gone, are worth remembering.
    for (const [pid, isGone] of this.#pids) {
      if (this.#pids.size <= 16) break;
      if (isGone) this.#pids.delete(pid);
    }
    this.#process = undefined;
  }

  /** The start-up limit, which stands still while a person signs in (at most `askTimeoutMs` each time). */
  async #startLimit(deadlineAt: number, signal: AbortSignal): Promise<void> {
    let until = deadlineAt;
    for (;;) {
      await wait(until - now(), signal);
      const since = this.#askingSince;
      if (since === undefined && now() >= until) return;
      // Looked at again while somebody is asked; afterwards the rest of the time is theirs to start.
      until = since === undefined ? until : now() + ASKING_LOOK_MS;
    }
  }

  #startTimeout(): End {
    const limit = this.#spec.options.startupTimeoutMs;
    const stderr = this.#log.tail();
    const last = stderr.at(-1);
    return {
      by: 'failure',
      reason: {
        kind: 'start-timeout',
        message: `not ready within startupTimeoutMs (${limit} ms) while ${this.#state}${last === undefined ? '' : `; last on its stderr: ${last}`}`,
        stderr,
      },
      threadHealthy: false,
      beforeHandshake: false,
    };
  }

  #startFailure(error: unknown): Extract<End, { by: 'failure' }> {
    const known = error instanceof BulkheadError ? error : undefined;
    const kind = typeof known?.data.kind === 'string' ? known.data.kind : 'internal';
    const stderr = this.#log.tail();
    const reason: Reason = { kind, message: error instanceof Error ? error.message : String(error) };
    if (stderr.length > 0) reason.stderr = stderr;
    const errno = typeof known?.data.errno === 'string' ? { errno: known.data.errno } : {};
    return { by: 'failure', reason, threadHealthy: false, beforeHandshake: true, ...errno };
  }

  // ── small things ────────────────────────────────────────────────────────────────────────────────────────────────

  #publishCatalog(catalog: ServerCatalog): void {
    this.#catalog = catalog;
    this.#catalogIsCached = false;
    this.#revision++;
    this.#context.tell(this.#catalogNotice(catalog));
    if (sleeps(this.#spec)) this.#context.catalogs.write(this.#spec.fingerprint, catalog);
  }

  /** The list of an earlier run, for a server that may not be started before its first call. */
  #rememberCatalog(): void {
    const catalog = this.#context.catalogs.read(this.#spec.fingerprint);
    if (catalog === undefined) return;
    this.#catalog = catalog;
    this.#catalogIsCached = true;
    this.#context.tell(this.#catalogNotice(catalog));
  }

  #catalogNotice(catalog: ServerCatalog): SupervisorNotice {
    return {
      type: 'catalog',
      server: this.name,
      revision: this.#revision,
      catalog,
      cached: this.#catalogIsCached,
    };
  }

  #stateNotice(): SupervisorNotice {
    const notice: SupervisorNotice = {
      type: 'state',
      server: this.name,
      generation: this.#generation,
      state: this.#state,
    };
    if (this.#reason !== undefined && this.#state !== 'ready') notice.reason = this.#reason;
    if (this.#nextTryAt !== undefined) notice.nextTryMs = this.#nextTryAt - now();
    return notice;
  }

  #move(state: ServerState, reason?: Reason): void {
    if (reason !== undefined) this.#reason = reason;
    if (state === this.#state) return;
    if (!canMove(this.#state, state)) this.warn(`unexpected change of state ${this.#state} → ${state}`);
    this.#state = state;
    this.#since = now();
    this.#context.board.set(this.slot, 'state', serverStates.indexOf(state));
    this.#context.tell(this.#stateNotice());
    for (const waiter of this.#stateWaiters) waiter();
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        const waiter = () => {
          this.#stateWaiters.delete(waiter);
          resolve();
        };
        this.#stateWaiters.add(waiter);
      });
    }
  }

  /** A fresh `#woken`; commands that came before it are seen by the loop's next look at what is wanted. */
  #rearm(): void {
    this.#woken = new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Resolves after `ms`; an abort takes the timer away (and leaves the promise to the collector). */
function wait(ms: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.min(Math.max(0, ms), MAX_TIMER_MS));
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}

function isModern({ protocolVersion }: ServerCatalog): boolean {
  return protocolVersion >= '2026';
}

/** Whether the server may be down although it is wanted: its tools must be known all the same. */
function sleeps(spec: ServerSpec): boolean {
  return spec.lifecycle === 'lazy' || spec.idleStopMs > 0;
}

/** Server names are foreign: what is not plain becomes `_`, so that a log file never leaves its directory. */
function fileNameOf(name: string): string {
  return (
    name
      .replaceAll(/[^A-Za-z0-9._-]/g, '_')
      .replace(/^\.+/, '_')
      .slice(0, 100) || '_'
  );
}
