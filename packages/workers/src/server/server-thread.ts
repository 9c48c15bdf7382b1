/**
 * One server's thread: the session, the lane and the connection of the moment. It owns bytes and protocol; the
 * process and this thread's own life belong to the supervisor. It survives its server: a new process is a new
 * connection in the same thread.
 */
import type { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { Board } from '../board.js';
import { now } from '../clock.js';
import { answer } from '../control.js';
import { BulkheadError } from '../errors.js';
import type {
  Answer,
  Launch,
  OpenAs,
  ProcessEnd,
  Reason,
  ServerCatalog,
  ServerControl,
  ServerEvent,
  ServerNotice,
  ServerThreadInit,
} from '../protocol.js';
import { AUTHORIZE } from '../protocol.js';
import { describeEnd } from './describe-end.js';
import { Lane } from './lane.js';
import { listenOnce } from './listener.js';
import { openSession } from './open-session.js';
import { OutputChecker } from './output-checker.js';
import { Rate } from './rate.js';
import { Recorder } from './recorder.js';
import { Refresher } from './refresher.js';
import type { Session } from './session.js';
import { Spill } from './spill.js';
import { StdioTransport } from './stdio.js';
import type { WireTransport } from './transport.js';

/** After the process's exit, how long bytes that are still in the socket may take to arrive. */
const DRAIN_AFTER_EXIT_MS = 100;
/** After the socket's end, how long the supervisor may take to say how the process ended. */
const CAUSE_GRACE_MS = 500;

/** One connection from hand-over to end. */
interface Connection {
  transport: WireTransport;
  /** Unset while the era is asked for. */
  session: Session | undefined;
  /** Set when the socket ended; the true cause may still come from the supervisor. */
  ended: Promise<Reason>;
  reason: Reason | undefined;
  over: boolean;
}

export class ServerThread implements ServerControl {
  readonly #init: ServerThreadInit;
  readonly #notices: MessagePort;
  readonly #board: Board;
  readonly #checker = new OutputChecker();
  readonly #lane: Lane;
  readonly #refresher: Refresher;
  #connected: Promise<Socket> | undefined;
  #connection: Connection | undefined;
  #hash = '';
  readonly #events = new Rate(100, 500);
  readonly #recorder: Recorder | undefined;

  constructor(init: ServerThreadInit, notices: MessagePort) {
    this.#init = init;
    this.#notices = notices;
    this.#board = Board.attach(init.board);
    this.#recorder = init.recordFile === undefined ? undefined : new Recorder(init.recordFile, init);
    this.#lane = new Lane({
      server: init.name,
      slot: init.slot,
      board: this.#board,
      window: init.options.window,
      maxMessageBytes: init.options.maxMessageBytes,
      transferBytes: init.transferBytes,
      spill: new Spill(init.spillDir, init.options.spillBytes),
      askTimeoutMs: init.options.askTimeoutMs,
      checker: this.#checker,
    });
    this.#refresher = new Refresher(() => this.#refresh(), {
      after: (ms, run) => void setTimeout(run, ms).unref(),
    });
  }

  addPort(port: MessagePort, sent: SharedArrayBuffer): Answer<null> {
    this.#lane.addPort(port, sent);
    return { ok: null };
  }

  listen(path: string, openAs: OpenAs = 'auto'): Promise<Answer<null>> {
    return answer(async () => {
      const { connected } = await listenOnce(path);
      this.#connected = connected;
      // After the answer, so that the process is on its way meanwhile. A failure shows again where it is used.
      if (openAs.startsWith('legacy')) setImmediate(() => import('./session-legacy.js').catch(() => {}));
      return null;
    });
  }

  open(timeoutMs: number, openAs: OpenAs = 'legacy'): Promise<Answer<ServerCatalog>> {
    return answer(async () => {
      if (this.#connected === undefined) throw new BulkheadError('INTERNAL', 'open before listen');
      const socket = await this.#connected;
      const transport = new StdioTransport(socket, this.#transportOptions());
      return this.#open(this.#adopt(transport, CAUSE_GRACE_MS), timeoutMs, openAs);
    });
  }

  connect(
    launch: Extract<Launch, { type: 'http' | 'sse' }>,
    timeoutMs: number,
    openAs: OpenAs = 'legacy',
  ): Promise<Answer<ServerCatalog>> {
    return answer(async () => {
      const { connectHttp } = await import('./http/index.js');
      const { credentialsFor } = await import('./auth/credentials.js');
      const { url: serverUrl, headers, auth: settings = {} } = launch;
      const open = this.#init.handlers.authorize
        ? { open: (address: string) => this.#authorize(address) }
        : {};
      const { wrap } = credentialsFor({ server: this.#init.name, serverUrl, headers, settings, ...open });
      const transport = connectHttp(launch, { ...this.#transportOptions(), wrapFetch: wrap });
      transport.onrenewed = () => this.#notice({ type: 'renewed' });
      return this.#open(this.#adopt(transport, 0), timeoutMs, openAs);
    });
  }

  async #open(connection: Connection, timeoutMs: number, openAs: OpenAs): Promise<ServerCatalog> {
    const { catalog, session } = await this.#openSession(connection, timeoutMs, openAs).catch(
      (error: unknown) => {
        // What the transport saw says more than the session's "connection closed".
        const seen = connection.reason;
        const said = error instanceof BulkheadError && error.data.kind === 'probe-exit';
        if (seen === undefined || seen.kind === 'closed' || said) throw error;
        throw new BulkheadError('START_FAILED', seen.message, { data: { kind: seen.kind }, cause: error });
      },
    );
    await this.#checker.learn(catalog.tools);
    this.#hash = JSON.stringify(catalog);
    // The lane opens only now: nothing may reach the server before `notifications/initialized`.
    if (!connection.over) this.#lane.connected(connection.transport, session.dialect);
    return catalog;
  }

  processEnded(end: ProcessEnd): Promise<Answer<null>> {
    return answer(async () => {
      const connection = this.#connection;
      if (connection === undefined || connection.over) return null;
      // The last message may still be in the socket (and a grandchild may hold the socket open for ever).
      await Promise.race([connection.ended, delay(DRAIN_AFTER_EXIT_MS)]);
      this.#over(connection, {
        kind: 'exit',
        message: describeEnd(end),
        exitCode: end.code,
        signal: end.signal,
        stderr: end.stderr,
        skipped: connection.transport.skipped().tail,
      });
      return null;
    });
  }

  /** Has the agent show a sign-in page to a person. */
  async #authorize(address: string): Promise<void> {
    this.#notice({ type: 'asking', open: true });
    try {
      await this.#lane.ask(AUTHORIZE, { url: address }, new AbortController().signal);
    } finally {
      this.#notice({ type: 'asking', open: false });
    }
  }

  goodbye(): Promise<Answer<null>> {
    return answer(async () => {
      await this.#connection?.session?.close();
      return null;
    });
  }

  endInput(): Answer<null> {
    this.#connection?.transport.endInput();
    return { ok: null };
  }

  ping(timeoutMs: number): Promise<Answer<{ roundTripMs: number }>> {
    return answer(async () => {
      if (this.#connection === undefined) throw new BulkheadError('NOT_READY', 'no session');
      const startedAt = performance.now();
      await this.#connection.session?.ping(timeoutMs);
      return { roundTripMs: performance.now() - startedAt };
    });
  }

  skipped(): Answer<{ count: number; tail: string[] }> {
    return { ok: this.#connection?.transport.skipped() ?? { count: 0, tail: [] } };
  }

  #transportOptions() {
    const { slot, options } = this.#init;
    return {
      maxMessageBytes: options.maxMessageBytes,
      onBytes: (count: number) => {
        this.#board.add(slot, 'bytes');
        this.#board.addWide(slot, 'received', count);
      },
      onSent: (count: number) => this.#board.addWide(slot, 'sent', count),
      onSkipped: () => this.#board.add(slot, 'skipped'),
      recorder: this.#recorder,
    };
  }

  /** @param causeGraceMs how long somebody else may take to say why the connection ended. */
  #adopt(transport: WireTransport, causeGraceMs: number): Connection {
    transport.onwarning = (message) => this.#notice({ type: 'warning', message });
    const connection: Connection = {
      transport,
      session: undefined,
      over: false,
      reason: undefined,
      ended: new Promise((resolve) => {
        transport.onended = (reason) => {
          connection.reason = reason;
          resolve(reason);
        };
      }),
    };
    this.#connection = connection;
    void connection.ended.then(async (reason) => {
      this.#notice({ type: 'closed', reason });
      // Usually the process died and the supervisor is about to say how; only it knows exit code and stderr.
      if (causeGraceMs > 0) await delay(causeGraceMs);
      this.#over(connection, reason);
    });
    return connection;
  }

  #openSession(connection: Connection, timeoutMs: number, openAs: OpenAs) {
    const { clientInfo, handlers } = this.#init;
    return openSession(connection.transport, {
      clientInfo,
      handlers,
      openAs,
      timeoutMs,
      now,
      adopt: (session) => {
        connection.session = session;
        session.onEvent = (event) => this.#event(event);
        session.onAsk = (method, params, signal) => this.#lane.ask(method, params, signal);
        session.onToolsChanged = () => this.#refresher.changed();
      },
    });
  }

  /** Ends a connection once, with the best cause known. */
  #over(connection: Connection, reason: Reason): void {
    if (connection.over) return;
    connection.over = true;
    if (this.#connection === connection) this.#connection = undefined;
    this.#lane.disconnected(reason);
    const { session, transport } = connection;
    void (session ?? transport).close().catch(() => {});
  }

  /** Reads the list again; true when it changed. A failed read keeps the last good list. */
  async #refresh(): Promise<boolean> {
    const connection = this.#connection;
    if (connection?.session === undefined) return false;
    try {
      const catalog = await connection.session.readCatalog(this.#init.options.startupTimeoutMs);
      const hash = JSON.stringify(catalog);
      if (hash === this.#hash || connection.over) return false;
      this.#hash = hash;
      await this.#checker.learn(catalog.tools);
      this.#notice({ type: 'catalog', catalog });
      return true;
    } catch (error) {
      if (connection.reason !== undefined) return false; // the session ended meanwhile; that is told elsewhere
      const message = error instanceof Error ? error.message : String(error);
      this.#notice({
        type: 'warning',
        message: `the tool list could not be read again, the last one stays: ${message}`,
      });
      return false;
    }
  }

  /** A flood of log lines must not become a flood of messages: what is over the rate is counted, not sent. */
  #event(event: ServerEvent): void {
    if (this.#events.take(performance.now())) this.#notice({ type: 'event', event });
    else
      this.#notice({
        type: 'warning',
        message: 'it sends more than 100 notifications a second; some were left out',
      });
  }

  #notice(notice: ServerNotice): void {
    this.#notices.postMessage(notice);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
