/**
 * Every default number of Bulkhead, in one table. Docs and `--help` quote this file; every number is an option.
 * Durations end in `Ms`, sizes in `Bytes`, counts are plain. Nothing here imports Node.
 */

/** Options that each server entry may set for itself. */
export const serverDefaults = {
  /** Spawn, handshake and first tool list, counted from the moment a start slot is taken. Env: `MCP_TIMEOUT`. */
  startupTimeoutMs: 30_000,
  /** Idle limit of one call: reset by progress. Env: `MCP_TOOL_TIMEOUT`. */
  callTimeoutMs: 60_000,
  /** Hard limit of one call, whatever its progress. */
  callMaxMs: 30 * 60_000,
  /** Calls in flight per server; 1 for servers that break under concurrency. */
  window: 64,
  /** Calls waiting behind the window before `MAILBOX_FULL`. */
  queueMax: 1_024,
  /** Bytes of arguments waiting behind the window before `MAILBOX_FULL`. */
  queueMaxBytes: 32 * 1024 * 1024,
  /** How long a handler of the agent (sampling, elicitation, roots) may take; deadlines of calls stand still meanwhile. */
  askTimeoutMs: 5 * 60_000,
  /** Largest single message accepted from the server. */
  maxMessageBytes: 64 * 1024 * 1024,
  /** Results of this size and more go to a file instead of the agent's memory; 0 never. Counts from 1 MiB on. */
  spillBytes: 32 * 1024 * 1024,
  /** Largest stderr log file of one server; one older file is kept. */
  logMaxBytes: 4 * 1024 * 1024,
} as const;

/** Options of the supervisor that hold for all servers. */
export const supervisorDefaults = {
  /** First backoff; the wait is drawn evenly from 0 … min(cap, base · 2^attempt) (full jitter). */
  backoffBaseMs: 250,
  backoffCapMs: 30_000,
  /** More than this many restarts inside the window quarantine the server. */
  restartMax: 5,
  restartWindowMs: 60_000,
  /** Sustained health that resets the counters; a handshake alone does not. */
  stableAfterMs: 60_000,
  /** Exits before the handshake that are believed to be permanent. */
  earlyExitMax: 3,
  /** First trial of a quarantined server; doubles up to the cap. */
  quarantineTrialMs: 60_000,
  quarantineTrialCapMs: 3_600_000,
  /** Kill ladder: EOF on stdin → wait → SIGTERM to the group → wait → SIGKILL to the group → wait. */
  eofGraceMs: 2_000,
  termGraceMs: 2_000,
  killGraceMs: 2_000,
  /** How long `terminate()` of a server thread may take before the thread counts as lost. */
  terminateGraceMs: 2_000,
  /** Starting slots: 0 means twice the cores. A slot is freed by the handshake or after `gateHoldMs`. */
  gateSlots: 0,
  gateHoldMs: 250,
  /** Heap limit of one server thread: beyond it the thread dies and is restarted, the host lives on. */
  threadHeapMb: 512,
  /** Threads kept ready for the next start of a server, made once the first one is ready; 0 turns them off. */
  spareThreads: 1,
  heartbeatMs: 250,
  /** Period of the watchdog's rounds. */
  watchdogRoundMs: 500,
  suspectAfterMs: 2_000,
  deadAfterMs: 10_000,
  /** An MCP ping after this much silence on an idle session; 0 turns it off. */
  pingIdleMs: 30_000,
  pingTimeoutMs: 10_000,
} as const;

/** Options of the runtime on the agent's thread. */
export const runtimeDefaults = {
  /** How long a call waits for a restart that is already due before `NOT_READY`. */
  restartWaitMs: 2_000,
  /** Period of the one sweep over waiting and overdue calls. */
  sweepMs: 100,
  /** Slack of the backstop behind the server thread's own deadline. */
  backstopSlackMs: 1_000,
  /** How long `drain()` waits for calls in flight and waiting. */
  drainTimeoutMs: 30_000,
  /** `close()` gives up after this long and says what is left. */
  closeDeadlineMs: 10_000,
  /** Servers one runtime can hold (slots on the shared board). */
  maxServers: 1_024,
  /** Results of this size and more cross the thread border as transferred bytes instead of text. */
  transferBytes: 64 * 1024,
} as const;

/** Node's timers take at most 2^31−1 ms; longer ones would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
