/**
 * Every message that crosses a thread, and nothing else.
 *
 *   agent ── control (comlink: SupervisorControl) ──▶ supervisor ── control (comlink: ServerControl) ──▶ server thread
 *   agent ◀─ notices (SupervisorNotice) ───────────── supervisor ◀─ notices (ServerNotice) ───────────── server thread
 *   agent ◀═ data port (LaneRequest / LaneReply), direct, one per server and generation ═══════════════▶ server thread
 *
 * Calls never pass through the supervisor. Messages of the data port are flat arrays: cheap to clone, many calls each.
 */
import type { MessagePort } from 'node:worker_threads';
import type { serverDefaults, supervisorDefaults } from './defaults.js';
import type { WireError } from './errors.js';
import type { AuthSettings } from './server/auth/settings.js';
import type { HeadersHelper } from './supervisor/headers-helper.js';

type Numbers<T> = { -readonly [K in keyof T]: number };

// ── what a server is ────────────────────────────────────────────────────────────────────────────────────────────

/** Per-server numbers (see `defaults.ts`), all present after resolution. */
export type ServerOptions = Numbers<typeof serverDefaults>;
export type SupervisorOptions = Numbers<typeof supervisorDefaults>;

/** What to run or to reach: after expansion, so it may hold secrets; it never goes back to the agent. */
export type Launch =
  | {
      type: 'stdio';
      command: string;
      args: string[];
      /** The whole environment of the child: allow-list plus the entry's own. */
      env: [string, string][];
      /** Absolute. */
      cwd: string;
    }
  | {
      type: 'http' | 'sse';
      url: string;
      headers: [string, string][];
      auth?: AuthSettings;
      helper?: HeadersHelper;
    };

/** Which era of the protocol to speak; `auto` asks the server. */
export type Protocol = 'auto' | 'legacy' | '2026-07-28';

/** `legacy-first`: like `auto`, but without asking, since the server is known to be of the older era. */
export type OpenAs = Protocol | 'legacy-first';

/** A server as the supervisor takes it. */
export interface ServerSpec {
  name: string;
  launch: Launch;
  options: ServerOptions;
  lifecycle: 'eager' | 'lazy';
  /** Stop after this much idleness; 0 never. */
  idleStopMs: number;
  disabled: boolean;
  /** Default `auto`. */
  protocol?: Protocol;
  /** Set when the entry may not start yet, with the reason a person reads. */
  held?: { state: 'needs-approval' | 'needs-auth'; reason: string };
  /** Values that are replaced in what the server prints to stderr. */
  secrets?: readonly string[];
  /** Hash of everything above that decides whether a change needs a restart; also the key of the catalog cache. */
  fingerprint: string;
}

// ── states ──────────────────────────────────────────────────────────────────────────────────────────────────────

export const serverStates = [
  'stopped',
  'starting',
  'connecting',
  'ready',
  'reconnecting',
  'draining',
  'stopping',
  'killing',
  'backoff',
  'quarantined',
  'lost',
  'disabled',
  'needs-approval',
  'needs-auth',
] as const;
/** Where a server stands; see docs/supervision.md. */
export type ServerState = (typeof serverStates)[number];

/** Why a server stands where it stands; kept until the next sustained health. */
export interface Reason {
  /** A short machine word: `exit`, `spawn`, `start-timeout`, `watchdog`, `thread`, `memory`, `config`, `user` … */
  kind: string;
  /** One sentence for a person. */
  message: string;
  exitCode?: number | null;
  signal?: string | null;
  /** Last lines of the server's stderr. */
  stderr?: string[];
  /** Last lines of stdout that were not protocol. */
  skipped?: string[];
}

/** A tool as its server lists it. */
export interface ToolDefinition {
  /** Raw name on the wire. */
  name: string;
  title?: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** A list as read from the server at one moment; immutable. */
export interface ServerCatalog {
  tools: ToolDefinition[];
  /** Tools that were left out, by name, each with a reason. */
  quarantined: { name: string; reason: string }[];
  warnings: string[];
  serverInfo: { name: string; version: string; title?: string };
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  instructions?: string;
}

/** How a server stands at this moment. */
export interface ServerStatus {
  name: string;
  state: ServerState;
  reason?: Reason;
  generation: number;
  transport: Launch['type'];
  pid?: number;
  tools: number;
  quarantinedTools: { name: string; reason: string }[];
  spawns: number;
  restarts: number;
  /** Process-clock time of the last change of state. */
  since: number;
  nextTryMs?: number;
  protocolVersion?: string;
  serverInfo?: ServerCatalog['serverInfo'];
  logFile: string;
  warnings: string[];
  /** Lines of stdout that were not protocol, counted. */
  skippedLines: number;
  /** Bytes from and to the server, over its life; over HTTP those of the messages' bodies. */
  receivedBytes: number;
  sentBytes: number;
  /** The event loop of its thread; absent while it has none. */
  loop?: LoopFigures;
}

/** How busy the event loop of one thread is. */
export interface LoopFigures {
  /** Time spent working and waiting since the thread began, ms. */
  activeMs: number;
  idleMs: number;
  /** How late its last heartbeat was, ms. */
  delayMs: number;
}

// ── agent ⇄ supervisor ──────────────────────────────────────────────────────────────────────────────────────────

export interface SupervisorInit {
  board: SharedArrayBuffer;
  options: SupervisorOptions;
  clientInfo: { name: string; version: string; title?: string };
  /** 0700 directory of this runtime for sockets and the run file. */
  runDir: string;
  logDir: string;
  /** Directory of run files, shared by all runtimes of this user. */
  stateDir: string;
  /** Directory of cached catalogs. */
  cacheDir: string;
  notices: MessagePort;
  control: MessagePort;
  transferBytes: number;
  /** For results in files; made by the first that needs it. */
  spillDir: string;
  /** What the agent can answer; only that is declared to servers. */
  handlers: HandlerSet;
  /** File to which every message of every server is added; undefined: none. */
  recordFile?: string | undefined;
}

export interface HandlerSet {
  sampling: boolean;
  elicitation: boolean;
  roots: boolean;
  /** Somebody can open a sign-in page for a person. */
  authorize: boolean;
}

/** Answers of the control plane are values: nothing is thrown across a thread. */
export type Answer<T> = { ok: T } | { error: WireError };

export interface ServerExit {
  name: string;
  finalState: ServerState;
  pids: { pid: number; gone: boolean }[];
}

/** What became of every server when the runtime closed. */
export interface CloseReport {
  servers: ServerExit[];
  lostThreads: number;
  tookMs: number;
}

export interface SupervisorControl {
  /** The whole wanted set; servers not in it are stopped and removed. Unchanged ones are not touched. */
  configure(specs: ServerSpec[]): Answer<{ added: string[]; changed: string[]; removed: string[] }>;
  start(name: string): Promise<Answer<null>>;
  stop(name: string): Promise<Answer<ServerExit>>;
  restart(name: string): Promise<Answer<null>>;
  enable(name: string): Promise<Answer<null>>;
  disable(name: string): Promise<Answer<null>>;
  /** No new calls; waits for those in flight, at most `timeoutMs`, then stops. */
  drain(name: string, timeoutMs: number): Promise<Answer<ServerExit>>;
  status(): Answer<ServerStatus[]>;
  /**
   * Another agent thread: notices, data ports and a control connection of its own ({@link AgentControl}), from the
   * moment it says {@link HELLO} on its notices. Told first: every server as it stands, then `introduced`.
   */
  attach(notices: MessagePort, control: MessagePort): Answer<null>;
  shutdown(deadlineMs: number): Promise<Answer<CloseReport>>;
}

/** What an attached agent may ask for: everything but what only the owner decides. */
export type AgentControl = Pick<
  SupervisorControl,
  'start' | 'stop' | 'restart' | 'enable' | 'disable' | 'drain' | 'status'
>;

/** The one message on a notices port towards the supervisor: nothing is kept for an agent that never came. */
export const HELLO = 'hello';

export type SupervisorNotice =
  /** A server joins, or its entry changed; comes before anything else about it. The owner knows already. */
  | { type: 'server'; server: string; options: ServerOptions; lazy: boolean; replacing: boolean }
  /** Every server that there is has been told of (to an agent that has just come). */
  | { type: 'introduced' }
  | {
      type: 'state';
      server: string;
      generation: number;
      state: ServerState;
      reason?: Reason;
      nextTryMs?: number;
    }
  | {
      type: 'port';
      server: string;
      generation: number;
      slot: number;
      port: MessagePort;
      sent: SharedArrayBuffer;
    }
  | {
      type: 'catalog';
      server: string;
      revision: number;
      catalog: ServerCatalog;
      cached: boolean;
    }
  | { type: 'event'; server: string; event: ServerEvent }
  | { type: 'removed'; server: string }
  | { type: 'warning'; server?: string; message: string };

// ── supervisor ⇄ server thread ──────────────────────────────────────────────────────────────────────────────────

/** What a server thread is started with; which server it gets is told later, by one message: {@link ServerThreadInit}. */
export interface ServerThreadBoot {
  notices: MessagePort;
  control: MessagePort;
  /** Load the client of the older era before saying `online`. */
  warm: boolean;
}

export interface ServerThreadInit {
  name: string;
  slot: number;
  generation: number;
  board: SharedArrayBuffer;
  options: ServerOptions;
  clientInfo: SupervisorInit['clientInfo'];
  heartbeatMs: number;
  transferBytes: number;
  /** For results in files; made by the first that needs it. */
  spillDir: string;
  handlers: HandlerSet;
  /** See {@link SupervisorInit.recordFile}. */
  recordFile?: string | undefined;
}

export interface ProcessEnd {
  code: number | null;
  signal: string | null;
  stderr: string[];
}

export interface ServerControl {
  /** Adds a data port of an agent thread; `sent` is its watermark (see {@link LaneRequest}). */
  addPort(port: MessagePort, sent: SharedArrayBuffer): Answer<null>;
  /**
   * Listens on `path` for the one connection that becomes the child's stdio; resolves when listening. What `openAs` is
   * known to need is loaded while the process starts.
   */
  listen(path: string, openAs?: OpenAs): Promise<Answer<null>>;
  /**
   * Handshake and tool list over the accepted connection, inside `timeoutMs`. Fails with `START_FAILED` and
   * `data.kind` `probe-exit` when the server ended on the question for its era: start it again as `legacy-first`.
   */
  open(timeoutMs: number, openAs?: OpenAs): Promise<Answer<ServerCatalog>>;
  /** The same for a server that is reached over HTTP: there is no process to hand over. */
  connect(
    launch: Extract<Launch, { type: 'http' | 'sse' }>,
    timeoutMs: number,
    openAs?: OpenAs,
  ): Promise<Answer<ServerCatalog>>;
  /** The process is gone: settle what was sent, with the true cause. */
  processEnded(end: ProcessEnd): Promise<Answer<null>>;
  /** Ends a remote session politely; waits for at most about a second. */
  goodbye(): Promise<Answer<null>>;
  /** Ends the transport towards the server (EOF on its stdin). */
  endInput(): Answer<null>;
  ping(timeoutMs: number): Promise<Answer<{ roundTripMs: number }>>;
  /** Lines of stdout that were not protocol. */
  skipped(): Answer<{ count: number; tail: string[] }>;
}

/** What a server tells unasked, apart from its tool list. `params` are as they came. */
export interface ServerEvent {
  name: 'renewed' | 'log' | 'resource' | 'resources' | 'prompts';
  params: Record<string, unknown>;
}

export type ServerNotice =
  | { type: 'event'; event: ServerEvent }
  | { type: 'catalog'; catalog: ServerCatalog }
  | { type: 'closed'; reason: Reason }
  | { type: 'warning'; message: string }
  /** A person is being asked; the start-up limit stands still meanwhile. */
  | { type: 'asking'; open: boolean }
  /** A lost session was replaced in place: what was wished of it must be told again. */
  | { type: 'renewed' }
  | { type: 'online' };

// ── data port ───────────────────────────────────────────────────────────────────────────────────────────────────

export const laneOp = { call: 0, cancel: 1, request: 2, answer: 3, notify: 4 } as const;

/**
 * Agent → server thread. A flat array, first the operation:
 * - `[call, id, tool, argumentsText, idleMs, idleAt, hardAt, tool, …]`: `id` is the first call's, the others follow it by
 *   one each; then {@link CALL_STRIDE} values a call. `tool` is a name, or the place of a name that this port brought
 *   before: the first {@link TOOL_NAMES_MAX} names count from 0 in the order in which they came. Times are whole
 *   milliseconds of the process clock (small integers cross more cheaply than fractions); `idleMs` is what progress
 *   resets the idle deadline to. A negative `hardAt` means its amount, and that one more value follows: members of the
 *   request's `_meta` as JSON text without braces, for a call that brings any;
 * - `[request, id, method, paramsText, idleMs, idleAt, hardAt, method, …]`: any other request of the client, in the
 *   same order;
 * - `[cancel, id, id, …]`;
 * - `[answer, askId, 1 | 0, resultText | errorText]`: the end of a {@link LaneAsk}, 1 for a result;
 * - `[notify, method, paramsText]`.
 *
 * Ids count from 1 per port, in order. Before every write to the transport the server thread stores the highest
 * id it hands over in the port's `sent` buffer (one Int32): what is above it was never sent.
 */
export type LaneRequest = (number | string)[];
export const CALL_STRIDE = 5;
/** Names of tools that the two ends of a port remember. */
export const TOOL_NAMES_MAX = 1_024;

export const laneStatus = {
  ok: 0,
  toolError: 1,
  /** `payload` is a {@link WireError}. */
  failed: 2,
  /** Not an end: `payload` is the JSON text of the progress params. */
  progress: 3,
} as const;

/**
 * Server thread → agent: replies one after the other. `id, payload` is a plain answer: status `ok`, the text of its
 * result, nothing more to say. Everything else is `-id, status, payload, extra`.
 * `payload` of `ok` and `toolError` is the exact JSON text of `result`: a string, or from `transferBytes` on an
 * ArrayBuffer (transferred) whose span is in `extra`.
 */
export type LaneReply = (number | string | ArrayBuffer | WireError | LaneExtra | null)[];

/** Method of the one {@link LaneAsk} that comes from us, not from a server: `{url}` of a sign-in page. */
export const AUTHORIZE = 'bulkhead/authorize';

/** Server thread → agent: the server asks something of the client; answered by `[answer, …]`. */
export type LaneAsk =
  | { type: 'ask'; id: number; method: string; params: Record<string, unknown> }
  | { type: 'ask-cancelled'; id: number };

export interface LaneExtra {
  start?: number;
  end?: number;
  /** The payload is empty: this file holds it, and is the agent's to remove. */
  spill?: { path: string; bytes: number };
  warnings?: string[];
}
