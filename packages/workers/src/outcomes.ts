/** The closed set of ways a call can end, and which error code belongs to which outcome. Pure. */

export const outcomes = [
  'ok',
  'tool_error',
  'timeout',
  'cancelled',
  'rejected',
  'connection_lost',
  'outcome_unknown',
  'protocol_error',
  'too_large',
] as const;

/**
 * How a call ended. Exactly one per call.
 * - `ok`, `tool_error`: the server answered (`tool_error` is its `isError: true`).
 * - `rejected`: never left the agent (see the code: mailbox full, breaker open, unknown tool …).
 * - `connection_lost`: never reached the server; safe to repeat.
 * - `outcome_unknown`: sent, no answer; the server may have done it.
 */
export type Outcome = (typeof outcomes)[number];

/** Stable codes of {@link BulkheadError}, with the outcome each one stands for. */
export const codeOutcome = {
  TIMEOUT: 'timeout',
  CANCELLED: 'cancelled',
  MAILBOX_FULL: 'rejected',
  BREAKER_OPEN: 'rejected',
  UNKNOWN_TOOL: 'rejected',
  UNKNOWN_SERVER: 'rejected',
  DENIED: 'rejected',
  /** The server did not declare what was asked of it. */
  UNSUPPORTED: 'rejected',
  NOT_READY: 'rejected',
  DRAINING: 'rejected',
  CLOSED: 'rejected',
  BAD_INPUT: 'rejected',
  BAD_CONFIG: 'rejected',
  INVALID_ARGUMENTS: 'rejected',
  POISON_CALL: 'outcome_unknown',
  CONNECTION_LOST: 'connection_lost',
  OUTCOME_UNKNOWN: 'outcome_unknown',
  SUPERVISOR_LOST: 'outcome_unknown',
  PROTOCOL_ERROR: 'protocol_error',
  TOO_LARGE: 'too_large',
  /** A start failed (see `data.kind`): not the end of a call by itself. */
  START_FAILED: 'rejected',
  START_TIMEOUT: 'rejected',
  INTERNAL: 'protocol_error',
} as const satisfies Record<string, Outcome>;

export type ErrorCode = keyof typeof codeOutcome;
