/** A call in the hands of the lane, and how the server's refusal of it is told. */
import type { WireError } from '../errors.js';
import type { DataPort } from './data-port.js';

/** One call from the moment it arrives in this thread until it is settled. */
export interface LaneCall {
  port: DataPort;
  id: number;
  /** Empty for `tools/call`; then `tool` is a tool's name, else the method again. */
  method: string;
  tool: string;
  args: string;
  /** Members of `_meta` that the caller brings, as JSON text, each with a comma before it; mostly empty. */
  meta: string;
  idleMs: number;
  /** Process clock, ms. */
  idleAt: number;
  hardAt: number;
  /** 0 while it waits for a place in the window. */
  wireId: number;
  /** Members of `params` that answer the server's questions, as JSON text; empty before the first round. */
  answers: string;
  rounds: number;
  /** Set while the agent answers the server's questions: the call is in nobody's hands but ours. */
  asking: AbortController | undefined;
}

/** A JSON-RPC error as the end of a call. `name` is for people: server and tool. */
export function serverError(
  name: string,
  error: { code: number; message: string; data?: unknown },
): WireError {
  const data: Record<string, unknown> = { jsonRpcCode: error.code };
  if (error.data !== undefined) data.jsonRpcData = error.data;
  return {
    code: 'PROTOCOL_ERROR',
    message: `${name}: the server refused the call: ${error.message} (JSON-RPC ${error.code})`,
    data,
  };
}
