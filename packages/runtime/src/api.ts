/** The public types of the runtime: what an agent sees. The classes that implement them stand beside this file. */
import type {
  BulkheadError,
  CloseReport,
  ContentBlock,
  LoopFigures,
  Outcome,
  Reason,
  ServerState,
  ServerStatus,
  ToolDefinition,
  WireError,
} from '@bulkhead/workers';
import type { CallRoute, Gate, ServerTrust } from './agent/tool.js';
import type { OnApproval } from './approvals.js';
import type { CallAuditOptions } from './audit/call-audit.js';
import type { LoadedConfig } from './config/types.js';
import type { MetricsOptions } from './control/metrics-port.js';
import type { ControlName } from './control/options.js';
import type { Logger, LogOptions } from './logging/logger.js';
import type { TelemetrySetting } from './telemetry/options.js';

/** One server as it stands in a config file or in code; see `config/schema.ts` for the fields. */
export type ServerEntryInput = Record<string, unknown>;

/** What a runtime is made of. Everything can be left out. */
export interface RuntimeOptions {
  /** `mcpServers` entries by name, as in a config file (validated the same way). */
  servers?: Record<string, ServerEntryInput>;
  /** Or a config from `loadConfig()`. */
  config?: LoadedConfig;
  /** Told to servers at the handshake. Default `{name: 'bulkhead', version}`. */
  clientInfo?: { name: string; version: string; title?: string };
  /**
   * Asked before a server whose entry came with the project (`.mcp.json`, `.bulkhead/mcp.local.json`) starts for the
   * first time, and again when its entry changes. Without it such a server rests as `needs-approval`.
   */
  onApproval?: OnApproval;
  /** Decides about every call before it leaves, by whichever method: see {@link Gate}. Default: every call may leave. */
  gate?: Gate;
  /** Answers to what servers ask; only what is given is declared to them. */
  handlers?: AgentHandlers;
  /**
   * Directory for stderr logs. Default: `<project>/.bulkhead/logs` where a project has `.bulkhead`, else a directory
   * of the project's name below `$XDG_STATE_HOME/bulkhead/logs`.
   */
  logDir?: string;
  /**
   * Directory below which results of `spillBytes` and more are kept in files, in a private directory of this runtime.
   * Default `os.tmpdir()`, which is memory on some machines.
   */
  spillDir?: string;
  /**
   * Opens a control socket under this name, closed with the runtime: `bulkhead status --resident NAME` and its sisters
   * look into this runtime, and `bulkhead call --resident NAME` uses it. Only this user can. Default: none. More is asked
   * for with `openControl()` of `@bulkhead/runtime/control`.
   */
  control?: ControlName;
  /**
   * Adds every message from and to the servers to this file, 0600, a line of JSON each, for `bulkhead replay`. Values of
   * members that are named like a secret are left out; what a tool was told and said otherwise stands there in full.
   * Default: nothing is recorded.
   */
  record?: { file: string };
  /**
   * Writes what happens to servers, and at level `trace` every call: to a logger with the methods of pino, which stays the
   * caller's, or as `{level, file}` to one that is made here. Values of the configuration that are secret are left out of
   * every text. Default: nothing is written.
   */
  logger?: Logger | LogOptions;
  /**
   * A port on the loopback interface with metrics for Prometheus, closed with the runtime. Default: none. `openMetrics()`
   * of `@bulkhead/runtime/control` does the same and tells the address.
   */
  metrics?: MetricsOptions;
  /** Adds a line to a file for every call, whichever way it is made. Default: none. */
  audit?: CallAuditOptions;
  /**
   * Traces and metrics by OpenTelemetry. Default `auto`: on when a provider is registered globally before the runtime is
   * made, else off and free of cost. No argument and no result is ever part of them.
   */
  telemetry?: TelemetrySetting;
  /** Overrides of `supervisorDefaults` and `runtimeDefaults`, by name. */
  limits?: Record<string, number>;
}

/** What a handler is told beside the request. */
export interface AskContext {
  server: string;
  /** Aborted when the server no longer waits, or `askTimeoutMs` is over. */
  signal: AbortSignal;
}

/**
 * Answers to requests of servers, run on the agent's thread. Deadlines of calls to that server stand still meanwhile.
 * Params and results are those of the MCP specification (client features: sampling, elicitation, roots).
 */
export interface AgentHandlers {
  /** `sampling/createMessage`. */
  sampling?: (
    params: Record<string, unknown>,
    context: AskContext,
  ) => Promise<Record<string, unknown>> | Record<string, unknown>;
  /** `elicitation/create`, form and URL mode; defaults of the requested schema are filled into an accepted form. */
  elicitation?: (
    params: Record<string, unknown>,
    context: AskContext,
  ) => Promise<ElicitationAnswer> | ElicitationAnswer;
  /**
   * Shows a sign-in page to a person, in a browser for instance; resolves when that is done, not when he has signed in.
   * Without it a remote server that needs a sign-in rests as `needs-auth`.
   */
  authorize?: (url: string, context: AskContext) => Promise<void> | void;
  /** `roots/list`. After a change call `runtime.rootsChanged()`. */
  roots?: (context: AskContext) => Promise<Root[]> | Root[];
}

/** What a person said to a question of a server. */
export type ElicitationAnswer =
  | { action: 'accept'; content?: Record<string, unknown> }
  | { action: 'decline' | 'cancel' };

/** A directory that a server is told about. */
export interface Root {
  /** A `file://` URI. */
  uri: string;
  name?: string;
}

/** Limits and facts of one call. */
export interface CallOptions {
  /** Aborting settles the call at once as `CANCELLED` and tells the server. */
  signal?: AbortSignal;
  /** Idle limit in ms from now, reset by progress. Default: the server's `callTimeoutMs`. */
  timeoutMs?: number;
  /** Hard limit in ms from now. Default: the server's `callMaxMs`. */
  maxMs?: number;
  /**
   * The caller's word that running the call twice does no harm: allows one retry after a crash. Default: true for tools
   * of trusted servers (`trust: true`) that hint `readOnlyHint` or `idempotentHint`, else false.
   */
  idempotent?: boolean;
  /** Told each progress notification of the server; each one resets the idle limit. */
  onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
  /** Told to the gate: the caller's own id of this call, a model's for instance. Default: a fresh one. */
  callId?: string;
  /** Told to the gate: on whose behalf the call is made. Default `direct`. */
  route?: CallRoute;
  /**
   * Members of the request's `_meta`, JSON values by name. Those that the protocol keeps for itself (`progressToken`,
   * `io.modelcontextprotocol/…`) are left out. A W3C `traceparent` here is the parent of the call's span. Default: none.
   */
  meta?: Readonly<Record<string, unknown>>;
}

/** Arguments that are JSON text already; they go out byte for byte (integers above 2^53 keep their digits). */
export interface RawArguments {
  readonly json: string;
}

/** How long a call took. */
export interface Timing {
  /** From `callTool()` to the hand-over to the server thread. */
  queueMs: number;
  /** From the hand-over to the answer. */
  callMs: number;
}

/** Where a result lies that was too long to be held in memory. */
export interface SpillFacts {
  /** Holds the exact JSON text of the result, 0600; gone once neither this object nor the result is held any more. */
  readonly path: string;
  readonly bytes: number;
}

/** The answer of a tool. Decoded on first use; `raw` is the exact text that the server sent. */
export interface ToolResult {
  readonly outcome: 'ok' | 'tool_error';
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
  readonly structuredContent: Record<string, unknown> | undefined;
  /** All text blocks in order, joined by a newline; the structured content as JSON when there is no text. */
  text(): string;
  /**
   * Exact JSON text of the `result` member. Where it was {@link spilled}, each look reads the file and blocks meanwhile,
   * as do the first `content`, `structuredContent` and `text()`.
   * @throws {BulkheadError} `CLOSED` when the runtime was closed before a spilled result was read.
   */
  readonly raw: string;
  /** The same in UTF-8, without blocking. */
  rawBytes(): Promise<Uint8Array>;
  /** Set from the server's `spillBytes` on (default 32 MiB): the result lies in a file. */
  readonly spilled?: SpillFacts | undefined;
  readonly timing: Timing;
  /** How many times the call was handed to a server. */
  readonly attempts: number;
  readonly warnings: readonly string[];
}

/** A tool with its place: everything an agent needs to offer it to a model. */
export interface CatalogTool extends ToolDefinition {
  /** `mcp__<server>__<tool>`, `[A-Za-z0-9_-]{1,64}`, unique in this runtime. */
  fullName: string;
  server: string;
}

/** Raw tool names of one server. */
export interface CatalogDiff {
  added: string[];
  removed: string[];
  /** Same name, other description or schema. */
  changed: string[];
}

/** All tools at one moment. Immutable: a later change is a later revision. */
export interface CatalogRevision {
  /** Counts from 0 in one runtime. */
  revision: number;
  /** SHA-256 (hex) of the tools as JSON: equal for equal catalogs, in every run. */
  hash: string;
  tools: readonly CatalogTool[];
}

/** How the awaited servers stand. */
export interface ReadyReport {
  /** Every awaited server is ready. */
  ok: boolean;
  ready: string[];
  /** Servers that are not ready, with the state they stand in and why. */
  failed: { name: string; state: ServerState; reason?: Reason }[];
}

/** One server, whatever generation of it runs. The view stays valid over restarts. */
export interface ServerView {
  readonly name: string;
  readonly state: ServerState;
  readonly reason: Reason | undefined;
  readonly generation: number;
  readonly instructions: string | undefined;
  readonly tools: readonly CatalogTool[];
  /** What the user's configuration says of it; undefined once it was removed. */
  readonly trust: ServerTrust | undefined;
  /** All pages; empty when the server has no resources. @throws {BulkheadError} */
  listResources(options?: CallOptions): Promise<Record<string, unknown>[]>;
  /** All pages; empty when the server has none. @throws {BulkheadError} */
  listResourceTemplates(options?: CallOptions): Promise<Record<string, unknown>[]>;
  /** The result of `resources/read`. @throws {BulkheadError} `UNSUPPORTED`, `PROTOCOL_ERROR` … */
  readResource(uri: string, options?: CallOptions): Promise<Record<string, unknown>>;
  /** Updates come as `resource` events; kept over restarts of the server until `unsubscribe`. */
  subscribe(uri: string): Promise<void>;
  /** Ends a subscription; unknown ones are no error. */
  unsubscribe(uri: string): Promise<void>;
  /** All pages; empty when the server has no prompts. @throws {BulkheadError} */
  listPrompts(options?: CallOptions): Promise<Record<string, unknown>[]>;
  /** The result of `prompts/get`. @throws {BulkheadError} `UNSUPPORTED`, `PROTOCOL_ERROR` … */
  getPrompt(
    name: string,
    args?: Record<string, string>,
    options?: CallOptions,
  ): Promise<Record<string, unknown>>;
  /** `completion/complete`: values for an argument of a prompt or a resource template. */
  complete(params: Record<string, unknown>, options?: CallOptions): Promise<Record<string, unknown>>;
  /** A round trip to the server itself, in ms. @throws {BulkheadError} */
  ping(options?: CallOptions): Promise<number>;
  /** Kept over restarts. */
  setLogLevel(level: LogLevel): Promise<void>;
  /** Calls a tool by its raw name. Same rules as {@link RuntimeApi.callTool}. */
  callTool(
    tool: string,
    args?: Record<string, unknown> | RawArguments,
    options?: CallOptions,
  ): Promise<ToolResult>;
  /**
   * Starts a server that is down for whatever reason. Resolves when the order is taken; `ready()` waits until it is
   * ready.
   */
  start(): Promise<void>;
  /** Ends the server, politely at first; resolves when its process is gone. */
  stop(): Promise<void>;
  /** Ends what runs and starts a new generation. Resolves when the order is taken. */
  restart(): Promise<void>;
  /** Undoes `disable()` or `disabled: true`; the server starts unless it is lazy. */
  enable(): Promise<void>;
  /** Stops the server and keeps it down whatever asks for it, until `enable()`. */
  disable(): Promise<void>;
  /**
   * Takes no new calls (`DRAINING`), lets those in flight end for at most `timeoutMs` (default 30 000), then stops.
   * What is still in flight then ends as `OUTCOME_UNKNOWN`.
   */
  drain(options?: { timeoutMs?: number }): Promise<void>;
}

/** One call of {@link RuntimeApi.callMany}: by full name, or by server and raw tool name. */
export type ManyCall = { args?: Record<string, unknown> | RawArguments; options?: CallOptions } & (
  | { fullName: string }
  | { server: string; tool: string }
);

/** How one of many calls ended, in order of completion. `index` counts the calls as they were pulled, from 0. */
export type ManyOutcome =
  | { index: number; call: ManyCall; result: ToolResult }
  | { index: number; call: ManyCall; error: BulkheadError };

/** What another configuration changed in a running host. Names of servers. */
export interface ReconfigureReport {
  added: string[];
  /** Restarted with their new entry. */
  changed: string[];
  removed: string[];
  /** Findings about the new entries, as sentences. */
  problems: string[];
}

/** A result cut to a budget. */
export interface ShapedResult {
  text: string;
  /** Bytes of the whole text. */
  bytes: number;
  truncated: boolean;
  /** Where the whole text lies, when it was cut. */
  file?: string;
}

/** Levels of `notifications/message`, as in RFC 5424. */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** Figures of one server since the runtime began. */
export interface ServerStats {
  calls: number;
  inFlight: number;
  queued: number;
  /** Ended calls by outcome. */
  outcomes: Partial<Record<Outcome, number>>;
  /** Of answered calls, ms, and their `count`; undefined before the first. */
  latency: { p50: number; p95: number; p99: number; mean: number; count: number } | undefined;
  /** Answered calls that took at most `durationBoundsMs` (of `latency.ts`), cumulative; absent before the first. */
  durations?: readonly number[];
  /** Of the circuit breaker: `open` refuses calls, `half-open` lets one through. */
  breaker?: 'closed' | 'half-open' | 'open';
}

/** How all servers stand at this moment. */
export interface RuntimeStatus {
  servers: (ServerStatus & { stats: ServerStats })[];
  /** The event loop of the supervisor; absent where only the owner can see it. */
  supervisorLoop?: LoopFigures;
  /** Entries of the config that were skipped, and other findings, as sentences. */
  problems: string[];
}

/** What a runtime tells of; each event has one argument. */
export interface RuntimeEvents {
  state: [event: { server: string; state: ServerState; generation: number; reason?: Reason }];
  /** The list of a server was read and differs; an equal one is no event. Raw names. */
  tools: [event: { server: string; revision: number; count: number } & CatalogDiff];
  /** A log message of a server (`notifications/message`), at most 100 a second. */
  log: [event: { server: string; level: string; logger?: string; data: unknown }];
  /** A subscribed resource was updated. */
  resource: [event: { server: string; uri: string }];
  /** The list of resources, or of prompts, changed. */
  resources: [event: { server: string }];
  prompts: [event: { server: string }];
  warning: [event: { server?: string; message: string }];
  /** The mailbox of a server is full: stop sending until `drain`. */
  saturated: [event: { server: string }];
  drain: [event: { server: string }];
  'supervisor-lost': [event: { error: WireError; restarts: number }];
}

/** What the owner of a runtime and the threads attached to it have in common. */
export interface RuntimeApi extends AsyncDisposable {
  /** Every call passes a gate before it leaves (`createRuntime({gate})`). */
  readonly gated: boolean;
  /** What `createRuntime({logger})` writes to; undefined without one, and in attached threads. */
  readonly logger?: Logger | undefined;
  /**
   * Resolves when every named server (default: all that start by themselves) is ready or has come to rest without
   * being ready, or when `timeoutMs` (default: the longest start-up timeout) is over. Never rejects for a bad server.
   */
  ready(options?: { timeoutMs?: number; servers?: string[] }): Promise<ReadyReport>;
  /** All tools, sorted by server, then by name. */
  tools(): readonly CatalogTool[];
  /** The catalog as it stands. */
  catalog(): CatalogRevision;
  /**
   * The catalog if it changed since this was last called (the first call always gives it), else undefined. For an agent
   * that takes changes only before a prompt, so that nothing moves under a model's feet.
   */
  refreshIfDirty(): CatalogRevision | undefined;
  /**
   * Calls a tool by its full name. A tool error (`isError`) is a result; whatever else is not `ok` rejects.
   * @throws {BulkheadError} `code` says how it ended (`TIMEOUT`, `OUTCOME_UNKNOWN`, `MAILBOX_FULL` …).
   */
  callTool(
    fullName: string,
    args?: Record<string, unknown> | RawArguments,
    options?: CallOptions,
  ): Promise<ToolResult>;
  /**
   * Makes many calls, pulling the next one only when there is room, and gives each outcome as it comes. Never throws
   * for a call. Leaving the loop cancels what is in flight.
   * @param options `concurrency`: calls in flight, 1 or more, default 64.
   */
  callMany(
    calls: Iterable<ManyCall> | AsyncIterable<ManyCall>,
    options?: { concurrency?: number },
  ): AsyncGenerator<ManyOutcome>;
  /**
   * Cuts a result's text to a budget, off this thread: head and tail stay, the whole text goes to a file that the cut
   * names. For results that a model will read.
   * @param options `maxBytes` of UTF-8, default 100 000, at least 1 000; `directory` for the file, default a private one.
   */
  shape(
    result: ToolResult,
    options?: { maxBytes?: number; directory?: string; signal?: AbortSignal },
  ): Promise<ShapedResult>;
  /**
   * Takes a new set of servers and changes only what differs: added ones start, removed ones stop, changed ones are
   * replaced, the others are not touched. Calls of it run one after the other.
   */
  reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<ReconfigureReport>;
  /** Tells every server that the roots changed. */
  rootsChanged(): void;
  /** Drains every server (see {@link ServerView.drain}); the runtime stays open. */
  drain(options?: { timeoutMs?: number }): Promise<void>;
  /** @throws {BulkheadError} `UNKNOWN_SERVER`. */
  server(name: string): ServerView;
  /** All servers, sorted by name; each view stays valid until its server is removed from the configuration. */
  servers(): readonly ServerView[];
  /** How all servers stand; waits for the supervisor. @throws {BulkheadError} */
  status(): Promise<RuntimeStatus>;
  /**
   * Listens to an event; a listener must not throw. Warnings that came before anybody listened are kept for the first
   * listener, 100 at most.
   */
  on<K extends keyof RuntimeEvents>(event: K, listener: (...args: RuntimeEvents[K]) => void): this;
  /** Takes a listener away. */
  off<K extends keyof RuntimeEvents>(event: K, listener: (...args: RuntimeEvents[K]) => void): this;
  /** Ends every server within `deadlineMs` and says what became of each process. Idempotent. */
  close(options?: { deadlineMs?: number }): Promise<CloseReport>;
}

export type {
  BulkheadError,
  CloseReport,
  ContentBlock,
  Outcome,
  Reason,
  ServerState,
  ServerStatus,
  ToolDefinition,
};
