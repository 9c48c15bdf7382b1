/** Why a generation is over, as a value with the reason that people read. Pure. */
import { BulkheadError } from '../errors.js';
import type { ProcessEnd, Reason, ServerState } from '../protocol.js';
import { describeEnd } from '../server/describe-end.js';
import type { ThreadEnd } from './thread.js';

/** `command`: somebody wanted it so. */
export type End =
  | { by: 'command' }
  /** The server ended on the question for its era: once more without it, which is no failure. */
  | { by: 'probe' }
  | Failure;

export interface Failure {
  by: 'failure';
  reason: Reason;
  /** The thread can take another connection. */
  threadHealthy: boolean;
  beforeHandshake: boolean;
  errno?: string;
}

export function processFailure(end: ProcessEnd, beforeHandshake: boolean): Failure {
  const { code: exitCode, signal, stderr } = end;
  const reason: Reason = { kind: 'exit', message: describeEnd(end), exitCode, signal, stderr };
  return { by: 'failure', reason, threadHealthy: true, beforeHandshake };
}

export function threadFailure({ kind, message }: ThreadEnd, beforeHandshake: boolean): Failure {
  const reason: Reason = { kind: kind === 'memory' ? 'memory' : 'thread', message };
  return { by: 'failure', reason, threadHealthy: false, beforeHandshake };
}

/** @param stderr the last lines, oldest first */
export function startTimeout(limitMs: number, state: ServerState, stderr: string[]): Failure {
  const last = stderr.at(-1);
  return {
    by: 'failure',
    reason: {
      kind: 'start-timeout',
      message: `not ready within startupTimeoutMs (${limitMs} ms) while ${state}${last === undefined ? '' : `; last on its stderr: ${last}`}`,
      stderr,
    },
    threadHealthy: false,
    beforeHandshake: false,
  };
}

/** Of what a step of the start threw. */
export function startFailure(error: unknown, stderr: string[]): Failure {
  const known = error instanceof BulkheadError ? error : undefined;
  const kind = typeof known?.data.kind === 'string' ? known.data.kind : 'internal';
  const reason: Reason = { kind, message: error instanceof Error ? error.message : String(error) };
  if (stderr.length > 0) reason.stderr = stderr;
  const errno = typeof known?.data.errno === 'string' ? { errno: known.data.errno } : {};
  return { by: 'failure', reason, threadHealthy: false, beforeHandshake: true, ...errno };
}
