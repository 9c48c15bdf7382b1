/**
 * The restart budget of one server: when to try again and when to stop trying. Immutable values and plain functions, in
 * the manner of Erlang's supervisor. Pure: time and randomness are arguments.
 */
import { supervisorDefaults } from '../defaults.js';
import type { SupervisorOptions } from '../protocol.js';

export type RestartOptions = Pick<
  SupervisorOptions,
  | 'backoffBaseMs'
  | 'backoffCapMs'
  | 'restartMax'
  | 'restartWindowMs'
  | 'stableAfterMs'
  | 'earlyExitMax'
  | 'quarantineTrialMs'
  | 'quarantineTrialCapMs'
>;

export interface RestartState {
  /** Times of the failures that still count, oldest first: at most `restartMax` + 1. */
  readonly failures: readonly number[];
  /** Failures since the last sustained health: the exponent of the next backoff. */
  readonly attempt: number;
  /** Exits before the handshake since the last handshake. */
  readonly earlyExits: number;
  /** Quarantines since the last sustained health: the exponent of the next trial's wait. */
  readonly quarantines: number;
  /** The next or running start is the one trial that a quarantine allows. */
  readonly onTrial: boolean;
  /** Since when the server is ready; undefined while it is not. */
  readonly readySince: number | undefined;
}

export interface Failure {
  /** Milliseconds on the clock that all functions here share. */
  now: number;
  /** `Reason.kind` of the failure. */
  kind: string;
  /** For `kind: 'spawn'`: the errno, which tells a missing command from a host that is short of something now. */
  errno?: string;
  beforeHandshake: boolean;
  /** Drawn evenly from 0 … 1. */
  random: number;
  options?: RestartOptions;
}

export type RestartDecision =
  | { type: 'backoff'; waitMs: number }
  | { type: 'quarantine'; trialMs: number; reason: string };

/** Kinds that a repetition cannot mend: somebody must change something first. */
const permanentKinds: ReadonlySet<string> = new Set([
  'spawn',
  'cwd',
  'config',
  'framing',
  'protocol-version',
  'auth',
]);

/** Spawn errors of a host that is short of processes, memory or descriptors for a moment, or still writing the file. */
const transientErrnos: ReadonlySet<string> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY']);

/** Failures of our side of the wall, or of the way to a remote server: they say nothing about whether the server's process exits early. */
const hostKinds: ReadonlySet<string> = new Set([
  'spawn',
  'start-timeout',
  'thread',
  'memory',
  'watchdog',
  'network',
  'http',
  'session',
]);

const fresh: RestartState = {
  failures: [],
  attempt: 0,
  earlyExits: 0,
  quarantines: 0,
  onTrial: false,
  readySince: undefined,
};

export function initial(): RestartState {
  return fresh;
}

/** A handshake succeeded. It proves that the server can start, not that it stays: only {@link tick} forgives. */
export function becameReady(state: RestartState, now: number): RestartState {
  return { ...state, earlyExits: 0, readySince: now };
}

/** Forgets everything once the server has been ready for `stableAfterMs`. Gives the same value when nothing changes. */
export function tick(
  state: RestartState,
  now: number,
  options: Pick<RestartOptions, 'stableAfterMs'> = supervisorDefaults,
): RestartState {
  const { readySince } = state;
  if (readySince === undefined || now - readySince < options.stableAfterMs) return state;
  return { ...fresh, readySince };
}

/**
 * A person or a program said "try again": a fresh budget at once. How often it was quarantined stays, so a loop that
 * restarts by hand still meets longer and longer trials.
 */
export function released(state: RestartState): RestartState {
  return { ...fresh, quarantines: state.quarantines };
}

/**
 * One life is over by failure: says when the next one begins. Health that lasted is taken into account first, so
 * nobody has to call {@link tick} at the right moment.
 */
export function failed(
  state: RestartState,
  failure: Failure,
): { state: RestartState; decision: RestartDecision } {
  const options = failure.options ?? supervisorDefaults;
  const before = tick(state, failure.now, options);
  const windowStart = failure.now - options.restartWindowMs;
  const early = failure.beforeHandshake && !hostKinds.has(failure.kind);
  const after: RestartState = {
    ...before,
    failures: [...before.failures.filter((at) => at > windowStart), failure.now],
    attempt: before.attempt + 1,
    earlyExits: before.earlyExits + (early ? 1 : 0),
    readySince: undefined,
  };
  const reason = quarantineReason(after, failure, options);
  if (reason !== undefined) return quarantine(after, reason, options);
  const ceiling = Math.min(options.backoffCapMs, options.backoffBaseMs * 2 ** before.attempt);
  return { state: after, decision: { type: 'backoff', waitMs: failure.random * ceiling } };
}

function quarantineReason(
  state: RestartState,
  failure: Failure,
  options: RestartOptions,
): string | undefined {
  if (isPermanent(failure)) return 'trying again cannot help';
  if (state.onTrial) return 'the trial after quarantine failed';
  if (state.earlyExits >= options.earlyExitMax) {
    return `exits before the handshake, ${state.earlyExits} times in a row`;
  }
  if (state.failures.length > options.restartMax) {
    return `${state.failures.length} failures within ${options.restartWindowMs / 1_000} s`;
  }
  return undefined;
}

/** The trial begins with an empty window: its one failure is judged by `onTrial`, not by old times. */
function quarantine(
  state: RestartState,
  reason: string,
  options: RestartOptions,
): { state: RestartState; decision: RestartDecision } {
  const trialMs = Math.min(options.quarantineTrialCapMs, options.quarantineTrialMs * 2 ** state.quarantines);
  return {
    state: { ...fresh, quarantines: state.quarantines + 1, onTrial: true },
    decision: { type: 'quarantine', trialMs, reason },
  };
}

function isPermanent({ kind, errno }: Failure): boolean {
  return permanentKinds.has(kind) && !(kind === 'spawn' && errno !== undefined && transientErrnos.has(errno));
}
