/**
 * The legal moves of a server's life: which state may follow which, what each state means, and who may wait on it. Pure.
 *
 *  stopped → starting → connecting → ready ⇄ reconnecting
 *      ▲                                │
 *      └── stopping ◀── draining ◀──────┤ stop, restart, changed entry
 *                                       ▼ watchdog, thread or process lost, out of memory
 *                   backoff ◀── killing          killing → lost (the thread did not end in time)
 *                      │
 *                      └→ starting …   too many failures → quarantined (a trial later, or by hand)
 */
import type { ServerState } from '../protocol.js';

/** Where a server goes when somebody, and not a failure, decides that it shall not run. */
const atRest = ['stopped', 'disabled', 'needs-approval', 'needs-auth'] as const;

/**
 * Every legal move. A failure of the process alone keeps the thread and may wait in `backoff` without a kill; a
 * failure of the thread always passes `killing`. Nothing but the end of a handshake leads to `ready`.
 */
export const transitions = {
  stopped: ['starting', 'disabled', 'needs-approval', 'needs-auth'],
  disabled: ['starting', 'stopped', 'needs-approval', 'needs-auth'],
  'needs-approval': ['starting', 'stopped', 'disabled', 'needs-auth'],
  'needs-auth': ['starting', 'stopped', 'disabled', 'needs-approval'],
  quarantined: ['starting', ...atRest],
  starting: ['connecting', 'stopping', 'killing', 'backoff', 'quarantined'],
  connecting: ['ready', 'reconnecting', 'stopping', 'killing', 'backoff'],
  ready: ['reconnecting', 'draining', 'stopping', 'killing', 'backoff'],
  reconnecting: ['connecting', 'ready', 'killing', 'backoff', 'stopping'],
  draining: ['stopping', 'killing'],
  stopping: ['starting', 'killing', 'lost', ...atRest],
  killing: ['backoff', 'lost', 'quarantined', 'stopped'],
  backoff: ['starting', 'reconnecting', 'stopping', 'quarantined', ...atRest],
  lost: ['starting', 'backoff', 'quarantined', ...atRest],
} as const satisfies Record<ServerState, readonly ServerState[]>;

/** What a person is told about a state: one sentence each. */
export const stateMeaning = {
  stopped: 'It does not run, because nobody asked for it or somebody stopped it.',
  starting: 'Its thread and its process are being started.',
  connecting: 'The process runs; handshake and first tool list are under way.',
  ready: 'It takes calls.',
  reconnecting: 'The process or session was lost; the healthy thread opens a new one.',
  draining: 'It takes no new calls and finishes those in flight before it stops.',
  stopping: 'It is being shut down in order: end of input first, signals later.',
  killing: 'It failed, and what is left of its process and thread is being ended.',
  backoff: 'It failed and is started again after a short random wait.',
  quarantined: 'It failed too often or cannot succeed; one trial comes later, or it is started by hand.',
  lost: 'Its thread could not be ended in time; a new generation takes over.',
  disabled: 'It was switched off in the configuration or by hand.',
  'needs-approval': 'It comes from a project and waits until a person approves it.',
  'needs-auth': 'It waits until a person signs in.',
} as const satisfies Record<ServerState, string>;

const restingStates: ReadonlySet<ServerState> = new Set([...atRest, 'quarantined']);

const onTheWayUp: ReadonlySet<ServerState> = new Set([
  'starting',
  'connecting',
  'ready',
  'reconnecting',
  'stopping',
  'killing',
  'backoff',
  'lost',
]);

/** Whether `to` may follow `from`. Staying is not a move. */
export function canMove(from: ServerState, to: ServerState): boolean {
  const next: readonly ServerState[] = transitions[from];
  return next.includes(to);
}

/**
 * Whether the server stands still with a reason: nothing changes within seconds unless somebody acts. `quarantined`
 * rests too, for its trial is a minute or more away.
 */
export function resting(state: ServerState): boolean {
  return restingStates.has(state);
}

/**
 * Whether the server is ready or may get there by itself soon, so that a caller may wait a moment for it. True for
 * `stopping`, because a restart passes through it; a stop ends in a resting state, where the wait ends too.
 */
export function mayBecomeReady(state: ServerState): boolean {
  return onTheWayUp.has(state);
}
