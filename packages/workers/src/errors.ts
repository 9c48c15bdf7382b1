/**
 * The one class of errors: a stable code, how the call ended by it, whether it may be repeated, and facts. It crosses threads
 * as plain data, because a clone of an error loses its code.
 */
import { codeOutcome, type ErrorCode, type Outcome } from './outcomes.js';

export interface BulkheadErrorInit {
  /** Structured facts: limits hit, exit code, stderr tail, skipped stdout lines, server's JSON-RPC error … */
  data?: Record<string, unknown>;
  /** True when repeating the same call can neither harm nor be a double execution. Default: by code. */
  retryable?: boolean;
  server?: string;
  tool?: string;
  cause?: unknown;
}

const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'MAILBOX_FULL',
  'BREAKER_OPEN',
  'NOT_READY',
  'CONNECTION_LOST',
]);

/**
 * The one error of Bulkhead. `message` names the server and the tool, says what happened and what to do next;
 * `code` is stable; `outcome` is how the call ended.
 */
export class BulkheadError extends Error {
  override readonly name = 'BulkheadError';
  readonly code: ErrorCode;
  readonly data: Record<string, unknown>;
  readonly retryable: boolean;
  readonly server: string | undefined;
  readonly tool: string | undefined;

  constructor(code: ErrorCode, message: string, init: BulkheadErrorInit = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = code;
    this.data = init.data ?? {};
    this.retryable = init.retryable ?? RETRYABLE.has(code);
    this.server = init.server;
    this.tool = init.tool;
  }

  /** How the call ended; follows from the code. */
  get outcome(): Outcome {
    return codeOutcome[this.code];
  }
}

/** The form in which an error crosses a thread: structured clone loses class, code and data. */
export interface WireError {
  code: ErrorCode;
  message: string;
  data?: Record<string, unknown>;
  retryable?: boolean;
  server?: string;
  tool?: string;
}

export function encodeError(error: unknown, fallback: ErrorCode = 'INTERNAL'): WireError {
  if (error instanceof BulkheadError) {
    const wire: WireError = { code: error.code, message: error.message, retryable: error.retryable };
    if (Object.keys(error.data).length > 0) wire.data = error.data;
    if (error.server !== undefined) wire.server = error.server;
    if (error.tool !== undefined) wire.tool = error.tool;
    return wire;
  }
  return { code: fallback, message: error instanceof Error ? error.message : String(error) };
}

export function decodeError(wire: WireError): BulkheadError {
  const init: BulkheadErrorInit = {};
  if (wire.data !== undefined) init.data = wire.data;
  if (wire.retryable !== undefined) init.retryable = wire.retryable;
  if (wire.server !== undefined) init.server = wire.server;
  if (wire.tool !== undefined) init.tool = wire.tool;
  return new BulkheadError(wire.code, wire.message, init);
}
