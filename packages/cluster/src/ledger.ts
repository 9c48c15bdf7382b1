/**
 * What a distributed batch must remember besides the queued chunks: which lines were sent and answered, the results until
 * they are collected, who works, and what the whole fleet may do at once. The queue delivers a chunk at least once; the
 * ledger makes exactly one result of every line out of that. One implementation per store.
 */
import type { Outcome } from '@bulkhead/workers';

/** How a batch is run; the same for every worker. */
export interface BatchPlan {
  /** Lines of one chunk at most. */
  chunkLines: number;
  /** Smaller numbers first, 1 to 2 097 152; 0: before all others. */
  priority: number;
  /** Tries of one line in all, where another try is safe. */
  attempts: number;
  /** Limit of one call in ms. */
  timeoutMs?: number;
  /** Calls in flight over the whole fleet, by server; `*` is every other one. */
  windows: Record<string, number>;
  /** Calls a second over the whole fleet, by server; `*` is every other one. */
  rates: Record<string, number>;
  /** Queues per server for lines with an `affinity`. */
  shards: number;
  /** Result bytes that may wait to be collected before workers pause. */
  maxUnreadBytes: number;
}

/** `open`: the submitter has not read all input yet. `sealed`: `lines` is final. `cancelled`: no further call starts. */
export type BatchState = 'open' | 'sealed' | 'cancelled';

/** A batch as the store remembers it. */
export interface BatchRecord {
  id: string;
  name: string;
  state: BatchState;
  /** Of the first submission, in ms since 1970. */
  createdAt: number;
  plan: BatchPlan;
  /** What tells another input from this one; see `submit()`. */
  input: { path: string; bytes: number; hash: string } | undefined;
  /** Lines submitted so far, blank ones not counted. */
  lines: number;
  /** Lines that have their result. */
  answered: number;
  outcomes: Partial<Record<Outcome, number>>;
  /** Result bytes written and not yet freed by a collector. */
  unreadBytes: number;
  /** Results that a collector has taken and freed, and where it wrote them. */
  collected: { lines: number; to: string } | undefined;
}

/** A queue in which chunks of a server wait: the shared one, or one of the shards of lines with an `affinity`. */
export interface QueueRecord {
  queue: string;
  server: string;
  shard: number | undefined;
}

/** What is known of a chunk's lines when a worker takes it. */
export interface Claim {
  state: BatchState;
  answered: Set<number>;
  /** Sent by an owner that is gone, and not answered. */
  sent: Set<number>;
}

/** `fenced`: another worker has the chunk now; nothing more may be sent. */
export type Standing = 'owner' | 'fenced' | 'cancelled';

export interface LineResult {
  line: number;
  outcome: Outcome;
  /** The whole output line without its end; a long one is kept apart by the ledger and joined again by `blob()`. */
  text: string;
}

/** A stretch of results, in the order in which they were written. */
export interface ResultPage {
  /** Where the next page begins. */
  cursor: string;
  /** Text of a line, or the reference of a long one for `blob()`. */
  lines: (string | { line: number; blob: string; bytes: number })[];
}

/** A worker as it tells of itself. */
export interface WorkerRecord {
  id: string;
  host: string;
  pid: number;
  startedAt: number;
  /** Those whose calls it takes now, as queues name them. */
  servers: string[];
  /** Servers that it has, but cannot use now, as queues name them, and why. Absent: none. */
  unusable?: { server: string; reason: string }[];
  /** Calls in flight and chunks held now, lines answered since the start. */
  inFlight: number;
  chunks: number;
  done: number;
}

export interface Ledger {
  /**
   * Makes sure that the store can hold batches; gives warnings about settings that could lose one.
   * @throws {BulkheadError} `CONNECTION_LOST` it cannot be reached; `BAD_CONFIG` read-only, full, too old, or it evicts keys.
   */
  check(): Promise<string[]>;

  // ── batches ─────────────────────────────────────────────────────────────────────────────────────────────────────
  /** False when there is one with that id; it is left as it is. */
  create(batch: Pick<BatchRecord, 'id' | 'name' | 'createdAt' | 'plan' | 'input'>): Promise<boolean>;
  batch(id: string): Promise<BatchRecord | undefined>;
  batches(): Promise<BatchRecord[]>;
  /** Notes where chunks of the batch went and how many lines are submitted by now (never fewer than before). */
  submitted(id: string, queues: QueueRecord[], chunks: string[], lines: number): Promise<void>;
  /** All lines are in. */
  seal(id: string, lines: number): Promise<void>;
  /** Job ids of the batch's chunks, by queue. */
  chunks(id: string): Promise<Map<string, string[]>>;
  cancel(id: string): Promise<void>;
  /** Forgets the batch and all that belongs to it. */
  remove(id: string): Promise<void>;

  // ── a chunk in the hands of a worker ────────────────────────────────────────────────────────────────────────────
  /** Makes `owner` (unique per taking) the owner of the chunk; whoever had it is fenced from now on. */
  claim(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<Claim>;
  /** Before these lines are sent. Nothing is noted unless the owner still has the chunk and the batch runs. */
  markSent(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<Standing>;
  /** These lines were noted as sent and then were not: forgets that, unless another owner has the chunk. */
  unmarkSent(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<void>;
  /**
   * Writes results in one step with the note that their lines are answered; a line that has its result keeps it. Also
   * taken from a fenced owner: a late answer is a true one.
   */
  putResults(
    id: string,
    chunk: string,
    owner: string,
    results: readonly LineResult[],
  ): Promise<{ standing: Standing; unreadBytes: number }>;

  // ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────
  /** Results after `cursor` (undefined: from the first that is kept), at least one entry if there is one. */
  results(id: string, cursor: string | undefined, maxBytes: number): Promise<ResultPage>;
  blob(id: string, reference: string): AsyncIterable<Buffer>;
  /** Results up to the cursor are safe at `to`; they are removed. */
  collected(id: string, cursor: string, to: string): Promise<void>;

  // ── the fleet ───────────────────────────────────────────────────────────────────────────────────────────────────
  queues(): Promise<QueueRecord[]>;
  /** Repeated while the worker lives; it is gone `ttlMs` after the last. */
  beat(worker: WorkerRecord, ttlMs: number): Promise<void>;
  workers(): Promise<WorkerRecord[]>;
  /** Takes or renews a name for `owner` alone; false when somebody else has it. */
  lease(name: string, owner: string, ttlMs: number): Promise<boolean>;
  release(name: string, owner: string): Promise<void>;
  /** Whether anybody has the name. */
  isLeased(name: string): Promise<boolean>;
  /** Takes or renews up to `want` of the `limit` places under a name; gives how many the owner has now, maybe 0. */
  places(name: string, owner: string, want: number, limit: number, ttlMs: number): Promise<number>;
  /** Asks to start `count` calls under a name now: 0 when granted, else how long to wait before asking again, in ms. */
  permits(name: string, count: number, perSecond: number): Promise<number>;
  close(): Promise<void>;
}
