/**
 * One request to a control socket and its answer. Says of every failure whether the request had left: what was never
 * sent may be done elsewhere, what was sent may have been done.
 */
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { BulkheadError, decodeError } from '@bulkhead/workers/errors';
import type { ControlEntry } from './entries.js';
import { checkPrivate } from './owner.js';
import { CONTROL_PROTOCOL, type ControlFailure, controlHeader } from './protocol.js';

/** `data.kind` of the error when nobody answers on the socket (any more). */
export const GONE = 'resident-gone';

export interface Ask {
  method: 'GET' | 'POST';
  path: string;
  /** JSON text. */
  body?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** What the loss of the connection means once the request was sent. Default `CONNECTION_LOST`. */
  lost?: 'CONNECTION_LOST' | 'OUTCOME_UNKNOWN';
}

/**
 * Resolves with an answer of 2xx whose body is still to be read.
 * @throws {BulkheadError} what the runtime answered; `CONNECTION_LOST` with `data.sent` false when nobody listens;
 * `DENIED` when the socket is not this user's alone; `CANCELLED`.
 */
export async function exchange(entry: ControlEntry, ask: Ask): Promise<IncomingMessage> {
  try {
    checkPrivate(dirname(entry.socket), 'directory');
    checkPrivate(entry.socket, 'socket');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw gone(entry, false, 'CONNECTION_LOST', error);
  }
  const answer = await send(entry, ask);
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return answer;
  const text = await readAll(entry, answer, ask);
  throw failure(entry, statusCode, text);
}

/** The whole body. @throws {BulkheadError} when it was cut, or `signal` aborted. */
export async function readAll(
  entry: ControlEntry,
  answer: IncomingMessage,
  { signal, lost = 'CONNECTION_LOST' }: Pick<Ask, 'signal' | 'lost'> = {},
): Promise<string> {
  const parts: Buffer[] = [];
  try {
    for await (const part of answer) parts.push(part as Buffer);
  } catch (error) {
    throw isCancelled(signal) ? cancelled(entry) : gone(entry, true, lost, error);
  }
  if (!answer.complete) throw gone(entry, true, lost, undefined);
  return Buffer.concat(parts).toString('utf8');
}

/** Whether `error` says that the resident is gone and that nothing was done. */
export function isUnsent(error: unknown): boolean {
  return error instanceof BulkheadError && error.data.kind === GONE && error.data.sent === false;
}

/** Whether `error` says that the resident is gone; see {@link isUnsent}. */
export function isGone(error: unknown): boolean {
  return error instanceof BulkheadError && error.data.kind === GONE;
}

function send(entry: ControlEntry, ask: Ask): Promise<IncomingMessage> {
  const { method, path, body, headers = {}, signal, lost = 'CONNECTION_LOST' } = ask;
  return new Promise((resolve, reject) => {
    let connected = false;
    const socket = connect(entry.socket, () => {
      connected = true;
    });
    // One connection a request: on one that is used again nobody can tell whether a lost request was sent. And no agent:
    // Node's asks of every host whether it is an IPv6 address, and the first use of that pattern costs 20 ms.
    const sent = request({
      createConnection: () => socket,
      method,
      path,
      headers: {
        ...headers,
        [controlHeader.protocol]: String(CONTROL_PROTOCOL),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    sent.once('response', resolve);
    sent.on('error', (error) =>
      reject(
        isCancelled(signal)
          ? cancelled(entry)
          : connected
            ? gone(entry, true, lost, error)
            : gone(entry, false, 'CONNECTION_LOST', error),
      ),
    );
    sent.end(body);
  });
}

/** By the caller; a limit that ran out is a resident that does not answer. */
function isCancelled(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && signal.reason?.name === 'AbortError';
}

function gone(
  { name, pid }: ControlEntry,
  sent: boolean,
  code: 'CONNECTION_LOST' | 'OUTCOME_UNKNOWN',
  cause: unknown,
): BulkheadError {
  const what = sent
    ? code === 'OUTCOME_UNKNOWN'
      ? 'does not answer any more; the call was sent and may have done its work. Look before you repeat it'
      : 'does not answer any more; ask again, or end it: bulkhead down'
    : 'does not answer; start it again with bulkhead up --detach';
  return new BulkheadError(code, `resident "${name}" (process ${pid}) ${what}`, {
    data: { kind: GONE, sent },
    cause,
  });
}

function cancelled({ name }: ControlEntry): BulkheadError {
  return new BulkheadError('CANCELLED', `cancelled while resident "${name}" was asked`);
}

function failure({ name }: ControlEntry, status: number, text: string): BulkheadError {
  try {
    const { error } = JSON.parse(text) as ControlFailure;
    if (typeof error.code === 'string' && typeof error.message === 'string') return decodeError(error);
  } catch {
    // Told below.
  }
  return new BulkheadError(
    'PROTOCOL_ERROR',
    `resident "${name}" answered with status ${status} and no reason`,
  );
}
