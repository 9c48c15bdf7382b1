/** What a client is told when a request cannot be answered: an error of a tool that a model can read, or one of the protocol. */
import { BulkheadError } from '@bulkhead/workers';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;
const RESOURCE_NOT_FOUND = -32002;
const INTERNAL_ERROR = -32603;

/** An error of JSON-RPC as it goes out; the SDK reads `code` and `data`. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  static params(message: string): Failure {
    return new Failure(INVALID_PARAMS, message);
  }

  static method(name: string): Failure {
    return new Failure(METHOD_NOT_FOUND, `Method not found: ${name}`);
  }

  static resource(message: string, uri: string): Failure {
    return new Failure(RESOURCE_NOT_FOUND, message, { uri });
  }
}

/** An error of the protocol: the server's own number and data where it gave one. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (!(error instanceof BulkheadError)) {
    return new Failure(INTERNAL_ERROR, error instanceof Error ? error.message : String(error));
  }
  const { jsonRpcCode, jsonRpcData } = error.data;
  if (typeof jsonRpcCode === 'number') return new Failure(jsonRpcCode, error.message, jsonRpcData);
  const code =
    error.code === 'UNSUPPORTED'
      ? METHOD_NOT_FOUND
      : error.code === 'INVALID_ARGUMENTS'
        ? INVALID_PARAMS
        : INTERNAL_ERROR;
  return new Failure(code, error.message, { code: error.code, server: error.server });
}

/**
 * How a call that did not succeed is answered. A server that is down, slow or gone is news for the model, which may go
 * on with other tools; what the server itself calls an error of the protocol stays one.
 */
export function callFailure(error: unknown): CallToolResult {
  if (!(error instanceof BulkheadError) || typeof error.data.jsonRpcCode === 'number') throw asFailure(error);
  return {
    content: [{ type: 'text', text: `${error.message} [${error.code}]` }],
    isError: true,
    _meta: { 'bulkhead/code': error.code, 'bulkhead/server': error.server },
  };
}
