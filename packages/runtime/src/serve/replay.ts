/** An MCP server on stdio that gives the answers of a recording, as they were given: no server runs. */
import type { Readable, Writable } from 'node:stream';
import { isRecord } from '@bulkhead/workers';
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { Failure } from './failure.js';
import { RawResult } from './raw-result.js';
import type { Recording } from './recording.js';
import { StdioFace } from './stdio.js';

/**
 * Resolves when the client is gone or `signal` is aborted.
 * @param onMiss Told of each request that was not recorded.
 */
export async function replay(
  recording: Recording,
  input: Readable,
  output: Writable,
  { signal, onMiss }: { signal?: AbortSignal; onMiss?: (why: string) => void } = {},
): Promise<void> {
  const face = new StdioFace(input, output);
  const gone = new Promise<void>((resolve) => {
    face.onclose = resolve;
  });
  face.onmessage = (message) => {
    if (!('method' in message) || !('id' in message)) return;
    void face.send(answerTo(message, recording, onMiss));
  };
  const end = (): void => void face.close();
  if (signal?.aborted === true) end();
  signal?.addEventListener('abort', end, { once: true });
  await face.start();
  await gone;
  signal?.removeEventListener('abort', end);
}

function answerTo(
  { id, method, params }: JSONRPCRequest,
  recording: Recording,
  onMiss: ((why: string) => void) | undefined,
): JSONRPCMessage {
  const answer = recording.answer(method, params);
  if (answer?.member === 'result') return { jsonrpc: '2.0', id, result: new RawResult(answer.text) };
  if (answer?.member === 'error') return { jsonrpc: '2.0', id, error: JSON.parse(answer.text) };
  // What every server answers, and what only some clients ask.
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} };
  const { code, message } = miss(method, params, recording);
  if (method !== 'server/discover') onMiss?.(message);
  return { jsonrpc: '2.0', id, error: { code, message } };
}

function miss(method: string, params: unknown, recording: Recording): Failure {
  if (!recording.has(method))
    return Failure.method(`${method} (never asked of "${recording.server}" in this recording)`);
  const name = isRecord(params) ? (params.name ?? params.uri) : undefined;
  const what = typeof name === 'string' ? `${method} of "${name}"` : method;
  return Failure.params(
    `${what} was not recorded with these params; the recording of "${recording.server}" has ${recording.count(method)} other ${method}`,
  );
}
