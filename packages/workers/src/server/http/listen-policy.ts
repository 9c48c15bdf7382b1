/**
 * When the optional listening stream is opened again, and when it is given up. Pure; the clock is an argument.
 * Losing it never harms calls: the connection then works by POST alone.
 */

/** Never sooner, whatever the server asks for. */
const FLOOR_MS = 1_000;
/** A server may ask for longer waits with `retry:`, up to this. */
export const RETRY_CAP_MS = 60_000;
/** A stream that lived this long counts as useful even if it brought nothing. */
const STABLE_MS = 30_000;
const MAX_FAILURES = 5;

export interface ListenState {
  readonly failures: number;
}

export const listenStart: ListenState = { failures: 0 };

export type ListenDecision = { waitMs: number; state: ListenState } | { giveUp: true };

/** After a stream ended or could not be opened. `useful`: it brought a message. */
export function afterStream(
  state: ListenState,
  stream: { useful: boolean; uptimeMs: number; retryMs: number | undefined },
): ListenDecision {
  const fresh = stream.useful || stream.uptimeMs >= STABLE_MS;
  const failures = fresh ? 0 : state.failures + 1;
  if (failures >= MAX_FAILURES) return { giveUp: true };
  const wanted = stream.retryMs ?? FLOOR_MS * 2 ** failures;
  return { waitMs: Math.min(RETRY_CAP_MS, Math.max(FLOOR_MS, wanted)), state: { failures } };
}

/** What the status of an attempt to open the stream means. */
export function listenStatus(
  status: number,
  isEventStream: boolean,
): 'open' | 'post-only' | 'retry' | 'auth' {
  if (status >= 200 && status < 300) return isEventStream ? 'open' : 'post-only';
  if (status === 401 || status === 403) return 'auth';
  if (status >= 500 && status !== 501) return 'retry';
  return 'post-only';
}
