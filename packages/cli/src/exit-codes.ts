/** What the exit status of `bulkhead` means; docs/cli.md quotes this table. Pure. */
import type { ErrorCode } from '@bulkhead/workers';

export const exitCode = {
  ok: 0,
  /** Usage or config error: nothing was called. */
  usage: 1,
  /** Authorization or approval is needed. */
  approval: 3,
  /** Unreachable or timed out. */
  unreachable: 4,
  /** The tool failed or does not exist; of a batch: finished, but some call was not `ok`. */
  failed: 5,
  /** The reader of stdout went away before a batch was done, as for any program that SIGPIPE ends. */
  closedPipe: 141,
} as const;

/** Exit status of a command that one error ended. */
export function exitCodeOf(code: ErrorCode): number {
  switch (code) {
    case 'BAD_INPUT':
    case 'BAD_CONFIG':
    case 'INVALID_ARGUMENTS':
    case 'UNKNOWN_SERVER':
      return exitCode.usage;
    case 'DENIED':
      return exitCode.approval;
    case 'TIMEOUT':
    case 'CANCELLED':
    case 'MAILBOX_FULL':
    case 'BREAKER_OPEN':
    case 'NOT_READY':
    case 'DRAINING':
    case 'CLOSED':
    case 'CONNECTION_LOST':
    case 'OUTCOME_UNKNOWN':
    case 'SUPERVISOR_LOST':
    case 'START_FAILED':
    case 'START_TIMEOUT':
      return exitCode.unreachable;
    case 'UNSUPPORTED':
    case 'UNKNOWN_TOOL':
    case 'POISON_CALL':
    case 'PROTOCOL_ERROR':
    case 'TOO_LARGE':
    case 'INTERNAL':
      return exitCode.failed;
  }
}
