/** What a batch takes, what it reports while it runs, and its default numbers. */
import type { Writable } from 'node:stream';
import type { ErrorCode, Outcome } from '@bulkhead/workers';
import type { RuntimeApi, RuntimeEvents, ServerView } from '../api.js';
import type { CallJournal } from './journal.js';
import type { InputLine } from './lines.js';
import type { RetryOptions } from './retry.js';

/** Default numbers of a batch; durations in ms, sizes in bytes. */
export const batchDefaults = {
  /** Calls in flight over all servers. */
  concurrency: 64,
  /** Input lines held at once: read, but not yet written as output. */
  readAheadLines: 2_000,
  /** Input text held at once; also the limit of finished lines that wait for their turn with `ordered`. */
  readAheadBytes: 32 * 1024 * 1024,
  /** Finished lines that may wait for a full output before no further call is started. */
  outputBufferBytes: 1024 * 1024,
  /** Longest input line; a longer one becomes `BAD_INPUT`. */
  maxLineBytes: 64 * 1024 * 1024,
  /** After an interrupt: how long the calls in flight may still end by themselves. */
  graceMs: 1_000,
  /** How often `onProgress` is told. */
  progressEveryMs: 100,
  /** Starts of one call that never reached its server before the loss is written. */
  maxStarts: 3,
} as const;

/** What a batch needs of a server. */
export type BatchServer = Pick<ServerView, 'name' | 'state' | 'reason' | 'start' | 'callTool'>;

/** What a batch needs of a runtime. */
export interface BatchRuntime extends Pick<RuntimeApi, 'ready' | 'tools' | 'status'> {
  /** All servers that lines may name. */
  servers(): readonly BatchServer[];
  /** As of the runtime. */
  on<K extends 'state' | 'tools'>(event: K, listener: (...args: RuntimeEvents[K]) => void): unknown;
  /** Takes a listener away. */
  off<K extends 'state' | 'tools'>(event: K, listener: (...args: RuntimeEvents[K]) => void): unknown;
}

/** One batch: from where, to where, and how fast. */
export interface BatchOptions {
  runtime: BatchRuntime;
  /** JSON Lines as bytes in pieces of any size, or lines made by `mapInput()`; see docs/batch.md. */
  input: AsyncIterable<Uint8Array | InputLine[]>;
  /** Takes one line of JSON per input line. It is flushed, but not ended. */
  output: Writable;
  /** Calls in flight over all servers, 1 or more. Default 64. */
  concurrency?: number;
  /** Write in the order of the input. Default false: in the order of completion. */
  ordered?: boolean;
  /** Limit of one call in ms, from its start; a line's own `timeoutMs` wins. Default: the server's limits. */
  timeoutMs?: number;
  /** How long the lines of a server wait for it to become ready, in ms. Default: the runtime's start-up limit. */
  connectTimeoutMs?: number;
  /** Calls in flight per server, by name. Default: 64. */
  windows?: ReadonlyMap<string, number>;
  /** Calls a second per server, by name; `*` is every server that has none of its own. Default: no limit. */
  rates?: ReadonlyMap<string, number>;
  /** Further tries of calls that certainly did not run or whose line is `idempotent`. Default: none. */
  retry?: RetryOptions;
  /** Stop at the first line that is not `ok`, as an interrupt would. Default false. */
  failFast?: boolean;
  /** Check every line against the input schema of its tool and call none. Default false. */
  dryRun?: boolean;
  /** Of `openJournal()`: lines that have their result are passed over, started ones are not repeated. */
  journal?: CallJournal;
  /**
   * Gives what tells the call of a line from every other and is the same each time it is made; the tool finds it in the
   * request's `_meta` as `io.github.bulkhead/idempotencyKey`. Default: none.
   */
  idempotencyKey?: (line: number) => string;
  /** Servers whose calls are not even tried, by name, with the reason that each of their lines gets. */
  unavailable?: ReadonlyMap<string, { code: ErrorCode; message: string }>;
  /** Aborting stops reading and starting; calls in flight get `graceMs`, then end as `cancelled`. */
  signal?: AbortSignal;
  /** Aborting ends the calls in flight at once, as `cancelled`. */
  callSignal?: AbortSignal;
  /** Called at least once, at the end. */
  onProgress?: (progress: BatchProgress) => void;
  /** Overrides of {@link batchDefaults}. */
  limits?: Partial<Record<keyof typeof batchDefaults, number>>;
}

/** How far a batch is. */
export interface BatchProgress {
  /** Lines read so far, blank ones not counted. */
  lines: number;
  done: number;
  /** Of those done: not `ok`. */
  failed: number;
  inFlight: number;
  waiting: number;
  /** Input bytes of the lines that are done: against the size of a file this is the true share of the work. */
  doneBytes: number;
  inputEnded: boolean;
}

/** One server's share of a batch. */
export interface ServerSummary {
  server: string;
  calls: number;
  outcomes: Partial<Record<Outcome, number>>;
  /** Of answered calls, in ms; undefined when there was none. */
  latency: { p50: number; p95: number; p99: number } | undefined;
  restarts: number;
}

/** How a batch ended. */
export interface BatchSummary {
  /** Lines read, blank ones not counted. */
  lines: number;
  /** Lines passed over, because an earlier run has written their results. */
  skipped: number;
  /** Lines written. */
  done: number;
  ok: number;
  /** Lines that were not a call. */
  badInput: number;
  /** Lines read but never started, because the batch was stopped; nothing is written for them. */
  notStarted: number;
  outcomes: Partial<Record<Outcome, number>>;
  /** Sorted by name; lines without a server are in none. */
  servers: ServerSummary[];
  /** At least one server was asked for and none of them ever became ready. */
  noServerStarted: boolean;
  /** Why the batch ended before the input did. */
  stopped: 'interrupted' | 'output-failed' | 'input-failed' | 'failed-fast' | undefined;
  /** The error behind `output-failed` and `input-failed`. */
  cause: Error | undefined;
  tookMs: number;
}
