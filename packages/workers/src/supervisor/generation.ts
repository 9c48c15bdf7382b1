/**
 * The thread and the process that a server has at the moment. Opens a connection over them and tells how it ended; ends
 * both, in the order in which nothing can hang. What comes next is the child's to decide.
 */
import type { MessagePort } from 'node:worker_threads';
import { now, wait } from '../clock.js';
import type { Launch, OpenAs, Reason, ServerCatalog, ServerNotice, ServerSpec } from '../protocol.js';
import type { ChildContext } from './child-context.js';
import { type End, type Failure, processFailure, startFailure, startTimeout, threadFailure } from './end.js';
import { withFreshHeaders } from './headers-helper.js';
import type { ServerProcess } from './process.js';
import { ProcessSlot } from './process-slot.js';
import type { Standing } from './standing.js';
import type { StderrLog } from './stderr-log.js';
import { ServerThreadHandle } from './thread.js';

/** How often a start is looked at while a person signs in. */
const ASKING_LOOK_MS = 5_000;
/** A remote session is ended by a request; its server may be away. */
const GOODBYE_MS = 1_500;
/** How long a broken connection may wait for the exit that explains it. */
const EXIT_GRACE_MS = 2_000;

/** For what a remote server does not have. */
const NEVER = new Promise<never>(() => {});

export class Generation {
  readonly slot: number;
  readonly #context: ChildContext;
  readonly #standing: Standing;
  readonly #log: StderrLog;
  readonly #spec: () => ServerSpec;
  #thread: ServerThreadHandle | undefined;
  readonly #process: ProcessSlot;
  #spawns = 0;
  #lostThreads = 0;
  /** This server ends when it is asked for its era. */
  #diedOfProbe = false;
  /** Since when a person is asked to sign in. */
  #askingSince: number | undefined;
  #watchdogDead: (reason: Reason) => void = () => {};
  #sessionClosed: (reason: Reason) => void = () => {};

  constructor(
    slot: number,
    context: ChildContext,
    standing: Standing,
    log: StderrLog,
    spec: () => ServerSpec,
  ) {
    this.slot = slot;
    this.#context = context;
    this.#standing = standing;
    this.#log = log;
    this.#spec = spec;
    this.#process = new ProcessSlot(slot, context, log);
  }

  get name(): string {
    return this.#spec().name;
  }
  get generation(): number {
    return this.#standing.generation;
  }
  get thread(): ServerThreadHandle | undefined {
    return this.#thread;
  }
  get process(): ProcessSlot {
    return this.#process;
  }
  get spawns(): number {
    return this.#spawns;
  }
  get lostThreads(): number {
    return this.#lostThreads;
  }

  /** One more agent thread: its data port goes straight to the server thread. */
  addAgent(port: MessagePort, sent: SharedArrayBuffer): void {
    this.#thread?.control
      .call('addPort', [port, sent], { timeoutMs: 10_000, transfer: [port] })
      .catch(() => {});
  }

  /** The watchdog's verdict on this thread. */
  declareDead(reason: Reason): void {
    this.#watchdogDead(reason);
  }

  // ── one connection ──────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Connects and waits for the end of the connection. Uses the living thread if there is one (reconnect). `onStarted` is
   * told when the start is over, however; `onReady` when the server can be called.
   */
  async serve(onStarted: () => void, onReady: () => void): Promise<End> {
    const { options } = this.#context;
    const spec = this.#spec();
    const deadlineAt = now() + spec.options.startupTimeoutMs;
    const timeout = () => startTimeout(spec.options.startupTimeoutMs, this.#standing.state, this.#log.tail());
    let handshaken = false;
    const over = new AbortController();
    let exited: Promise<End | undefined> = Promise.resolve(undefined);
    let threadGone: Promise<End | undefined> = Promise.resolve(undefined);
    try {
      this.#standing.forgetStop();
      this.#standing.move(this.#thread === undefined ? 'starting' : 'reconnecting');
      this.#log.clearTail();
      const thread = this.#thread ?? this.#newThread();
      const watchdog = new Promise<End>((resolve) => {
        this.#watchdogDead = (reason) =>
          resolve({ by: 'failure', reason, threadHealthy: false, beforeHandshake: !handshaken });
      });
      const closed = new Promise<End>((resolve) => {
        this.#sessionClosed = (reason) =>
          resolve({ by: 'failure', reason, threadHealthy: true, beforeHandshake: !handshaken });
      });
      const threadEnd = thread.ended.then((end): End => {
        if (end.kind === 'memory') this.#context.spares.drop();
        return threadFailure(end, !handshaken);
      });
      threadGone = threadEnd;
      const opened = this.#open(thread, deadlineAt);
      const died = opened.process.then((process) => process.ended);
      const exit = died.then((end): End => processFailure(end, !handshaken));
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
        this.#startLimit(deadlineAt, over.signal).then((): End => timeout()),
        processEnd,
        ...ends,
      ]);
      onStarted();
      if (first.by !== 'ready') return first;
      handshaken = true;
      this.#publish(first.catalog);
      this.#context.eras.remember(spec.fingerprint, isModern(first.catalog) ? 'modern' : 'legacy');
      onReady();
      this.#context.spares.refill();
      // The socket's end usually comes just before the exit that explains it: prefer the exit.
      const closedLast = closed.then(async (end) => {
        if (spec.launch.type !== 'stdio') return end;
        const exit = await Promise.race([processEnd, wait(options.eofGraceMs, over.signal)]);
        return exit ?? end;
      });
      return await Promise.race([processEnd, closedLast, ...ends]);
    } catch (error) {
      onStarted();
      const failure = startFailure(error, this.#log.tail());
      // Session and supervisor keep the same limit; whoever is first, it is told in one way.
      if (failure.reason.kind === 'start-timeout') return timeout();
      if (failure.reason.kind === 'probe-exit' && !this.#diedOfProbe) {
        this.#diedOfProbe = true;
        return { by: 'probe' };
      }
      const better = this.#betterReason(failure, threadGone, exited);
      return (await Promise.race([better, wait(EXIT_GRACE_MS, over.signal)])) ?? failure;
    } finally {
      over.abort();
    }
  }

  /** What ended what failed, where that is told a moment later. */
  #betterReason(
    { reason }: Failure,
    threadGone: Promise<End | undefined>,
    exited: Promise<End | undefined>,
  ): Promise<End | undefined> {
    // A thread's port closes before the thread ends: what ended it (its memory, say) is the better reason.
    if (reason.kind === 'internal') return threadGone;
    // A connection that ends usually means that the process died: how it died is the better reason.
    if (reason.kind === 'closed' && this.#spec().launch.type === 'stdio') return exited;
    return Promise.resolve(undefined);
  }

  /** Starts or reaches what the launch names and opens the session; both promises settle on their own. */
  #open(
    thread: ServerThreadHandle,
    deadlineAt: number,
  ): { process: Promise<ServerProcess>; catalog: Promise<ServerCatalog> } {
    const { launch, options } = this.#spec();
    const left = () => Math.max(1, deadlineAt - now());
    const openAs = this.#openAs();
    const online = thread.online();
    // A remote server has no process, so this promise stays open: its end is told by the session.
    const process = launch.type === 'stdio' ? this.#spawn(thread, online, launch, left) : NEVER;
    const catalog = (launch.type === 'stdio' ? process : online).then(async () => {
      this.#standing.move('connecting');
      // While a person signs in the limit above is the only one that counts.
      const mayAsk = launch.type !== 'stdio' && this.#context.handlers.authorize;
      const timeoutMs = left() + (mayAsk ? options.askTimeoutMs : 0);
      const limit = { timeoutMs: timeoutMs + 1_000 };
      if (launch.type === 'stdio') return thread.control.call('open', [timeoutMs, openAs], limit);
      this.#countSpawn(launch.type);
      return thread.control.call(
        'connect',
        [await withFreshHeaders(launch, this.name), timeoutMs, openAs],
        limit,
      );
    });
    process.catch(() => {});
    catalog.catch(() => {});
    return { process, catalog };
  }

  async #spawn(
    thread: ServerThreadHandle,
    online: Promise<void>,
    launch: Extract<Launch, { type: 'stdio' }>,
    left: () => number,
  ): Promise<ServerProcess> {
    await online;
    const path = `${this.#context.runDir}/${this.slot}-${this.generation}-${this.#spawns}.sock`;
    await thread.control.call('listen', [path, this.#openAs()], { timeoutMs: left() });
    this.#countSpawn(launch.command);
    return this.#process.spawn(launch, path);
  }

  #countSpawn(what: string): void {
    this.#spawns++;
    this.#log.note(`generation ${this.generation}, start ${this.#spawns}: ${what}`, new Date());
  }

  /** Which era to speak: a server that is known to be of the older one is not asked again. */
  #openAs(): OpenAs {
    const { protocol = 'auto', fingerprint } = this.#spec();
    if (protocol !== 'auto') return protocol;
    return this.#diedOfProbe || this.#context.eras.isLegacy(fingerprint) ? 'legacy-first' : 'auto';
  }

  #newThread(): ServerThreadHandle {
    const generation = ++this.#standing.generation;
    const { board, options, clientInfo, transferBytes, spillDir, handlers, recordFile } = this.#context;
    board.set(this.slot, 'generation', generation);
    const thread = new ServerThreadHandle(
      this.#context.spares.thread(),
      {
        name: this.name,
        slot: this.slot,
        generation,
        board: board.buffer,
        options: this.#spec().options,
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

  #heard(notice: ServerNotice): void {
    const { tell } = this.#context;
    switch (notice.type) {
      case 'catalog':
        this.#publish(notice.catalog);
        return;
      case 'event':
        tell({ type: 'event', server: this.name, event: notice.event });
        return;
      case 'renewed':
        tell({ type: 'event', server: this.name, event: { name: 'renewed', params: {} } });
        return;
      case 'asking':
        this.#askingSince = notice.open ? now() : undefined;
        return;
      case 'closed':
        this.#sessionClosed(notice.reason);
        return;
      case 'warning':
        this.#standing.warn(notice.message);
        return;
      case 'online':
        return;
      default:
        notice satisfies never;
    }
  }

  #publish(catalog: ServerCatalog): void {
    this.#standing.publish(catalog);
    this.#context.catalogs.write(this.#spec(), catalog);
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

  // ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ends thread and process; nothing of them is left afterwards, or it is counted as lost. */
  async end(state: 'stopping' | 'killing'): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined && this.#process.pid === undefined) return;
    this.#standing.move(state);
    const healthy = state === 'stopping' && thread !== undefined && !thread.gone;
    // A thread that may be spinning goes first: the kernel then closes its socket, which is the server's EOF.
    if (!healthy && thread !== undefined) await this.#endThread(thread);
    if (healthy && this.#spec().launch.type !== 'stdio') {
      await thread.control.call('goodbye', [], { timeoutMs: GOODBYE_MS }).catch(() => {});
    }
    await this.endProcess();
    if (healthy) await this.#endThread(thread);
    this.#thread = undefined;
  }

  /** Ends the process alone: the thread stays for the next one. */
  async endProcess(): Promise<void> {
    await this.#process.end(() => {
      this.#thread?.control.call('endInput', [], { timeoutMs: 1_000 }).catch(() => {});
    });
  }

  async #endThread(thread: ServerThreadHandle): Promise<void> {
    if (!(await thread.terminate(this.#context.options.terminateGraceMs))) {
      this.#lostThreads++;
      this.#standing.move('lost', {
        kind: 'lost',
        message: 'the server thread did not end when it was terminated',
      });
    }
  }
}

function isModern({ protocolVersion }: ServerCatalog): boolean {
  return protocolVersion >= '2026';
}
