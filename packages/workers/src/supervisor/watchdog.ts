/**
 * The watchdog's judgement on one server thread, round by round: is it alive, is it stuck, is it time for a ping. Pure;
 * `watch.ts` reads the board and acts. Heartbeat, bytes and pings are separate signals: a busy server is not a hung one.
 */
import type { SupervisorOptions } from '../protocol.js';

export type WatchOptions = Pick<
  SupervisorOptions,
  'watchdogRoundMs' | 'suspectAfterMs' | 'deadAfterMs' | 'pingIdleMs' | 'pingTimeoutMs'
>;

/** What one round reads from the board. */
export interface WatchInput {
  /** Monotonic milliseconds. */
  now: number;
  /** The thread's heartbeat counter; only whether it changed counts (it may wrap). */
  beat: number;
  /** Chunks that arrived on the transport; only whether it changed counts. */
  bytes: number;
  /** Calls in flight. */
  inFlight: number;
}

export interface WatchState {
  readonly roundAt: number;
  readonly beat: number;
  readonly beatAt: number;
  /** False until the first heartbeat of this generation: a thread that still loads is the start-up limit's business. */
  readonly beaten: boolean;
  readonly bytes: number;
  /** Since when nothing is in flight and no byte came. */
  readonly quietSince: number;
  readonly pingedAt: number | undefined;
}

/**
 * - `ok`: the thread is alive and there is nothing to do.
 * - `suspect`: no heartbeat for `suspectAfterMs`; said in every round while it lasts.
 * - `dead`: no heartbeat for `deadAfterMs`.
 * - `skip`: the watchdog itself was late, so this round proves nothing.
 * - `ping`: the session is idle and quiet; ask whether the server still answers.
 */
export type WatchVerdict = 'ok' | 'suspect' | 'dead' | 'skip' | 'ping';

/** A round later than this was not ours: the supervisor was blocked, the host stopped, the laptop asleep. */
const LATE_ROUND_MS = 1_000;

/** The state before the first round of a generation: its thread counts as alive now. */
export function watchInitial(input: WatchInput): WatchState {
  return {
    roundAt: input.now,
    beat: input.beat,
    beatAt: input.now,
    beaten: false,
    bytes: input.bytes,
    quietSince: input.now,
    pingedAt: undefined,
  };
}

/** One round: the new state and the verdict. */
export function watched(
  before: WatchState,
  input: WatchInput,
  options: WatchOptions,
): { state: WatchState; verdict: WatchVerdict } {
  const { now } = input;
  const skip = roundWasLate(now - before.roundAt, options.watchdogRoundMs);
  // After a gap every thread looks dead: each gets its full time again, counted from now.
  const beaten = before.beaten || input.beat !== before.beat;
  const beatAt = skip || !beaten || input.beat !== before.beat ? now : before.beatAt;
  const active = input.inFlight > 0 || input.bytes !== before.bytes;
  const state: WatchState = {
    roundAt: now,
    beat: input.beat,
    beatAt,
    beaten,
    bytes: input.bytes,
    quietSince: active ? now : before.quietSince,
    pingedAt: active ? undefined : before.pingedAt,
  };
  if (skip) return { state, verdict: 'skip' };
  const beatAgeMs = now - beatAt;
  if (beatAgeMs >= options.deadAfterMs) return { state, verdict: 'dead' };
  if (beatAgeMs >= options.suspectAfterMs) return { state, verdict: 'suspect' };
  if (pingDue(state, options)) return { state: { ...state, pingedAt: now }, verdict: 'ping' };
  return { state, verdict: 'ok' };
}

function roundWasLate(gapMs: number, roundMs: number): boolean {
  return gapMs < 0 || gapMs - roundMs > Math.max(LATE_ROUND_MS, roundMs);
}

/**
 * Quiet counts from the last byte AND the last call in flight: a server that still works on a call that timed out has
 * the whole idle time before anybody asks. One ping at a time.
 */
function pingDue({ roundAt, quietSince, pingedAt }: WatchState, options: WatchOptions): boolean {
  if (options.pingIdleMs <= 0 || roundAt - quietSince < options.pingIdleMs) return false;
  const pauseMs = Math.max(options.pingIdleMs, options.pingTimeoutMs);
  return pingedAt === undefined || roundAt - pingedAt >= pauseMs;
}
