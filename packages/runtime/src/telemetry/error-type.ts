/** How a call that is not `ok` is named in `error.type`: a closed set, but for the numbers of JSON-RPC errors. Pure. */
import type { BulkheadError, Outcome } from '@bulkhead/workers';

/**
 * Undefined for a call that went well. The code of a server's JSON-RPC error as text and `tool_error`, as the conventions
 * for MCP have it; otherwise Bulkhead's own code in lower case (`timeout`, `mailbox_full` …).
 */
export function errorType(outcome: Outcome, error: BulkheadError | undefined): string | undefined {
  if (error === undefined) return outcome === 'ok' ? undefined : outcome;
  const status = rpcStatus(error);
  return status === undefined ? error.code.toLowerCase() : status;
}

/** `rpc.response.status_code`: the code of a JSON-RPC error. */
export function rpcStatus(error: BulkheadError | undefined): string | undefined {
  const code = error?.data.jsonRpcCode;
  return typeof code === 'number' ? String(code) : undefined;
}
