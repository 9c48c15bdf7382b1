/** Waiting for servers: until each is ready or has come to rest without being ready, and the report about it. */
import { type Reason, resting } from '@bulkhead/workers';
import type { ReadyReport } from './api.js';
import type { RuntimeListeners } from './events.js';
import type { ServerRef } from './server-ref.js';

export interface Wait {
  /** Nothing is waited for any more; looked at with every event. */
  over: () => boolean;
  /** The server stands still, but somebody is about to decide about it. */
  undecided: (ref: ServerRef) => boolean;
}

/** Resolves when every ref has settled, `timeoutMs` is over, or `over()` holds at an event. */
export async function settled(
  refs: readonly ServerRef[],
  events: RuntimeListeners,
  timeoutMs: number,
  { over, undecided }: Wait,
): Promise<void> {
  const waiting = () => refs.some((ref) => !isSettled(ref) || undecided(ref));
  if (!waiting()) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      events.off('state', look);
      resolve();
    };
    const look = () => {
      if (!waiting() || over()) done();
    };
    const timer = setTimeout(done, timeoutMs);
    events.on('state', look);
  });
}

export function readyReport(refs: readonly ServerRef[]): ReadyReport {
  const failed = refs.filter((ref) => ref.state !== 'ready').map(failure);
  return {
    ok: failed.length === 0,
    ready: refs.filter((ref) => ref.state === 'ready').map((ref) => ref.name),
    failed,
  };
}

function failure({ name, state, reason }: ServerRef): {
  name: string;
  state: ServerRef['state'];
  reason?: Reason;
} {
  return { name, state, ...(reason === undefined ? {} : { reason }) };
}

function isSettled(ref: ServerRef): boolean {
  if (ref.startAsked) return false;
  if (ref.state === 'stopped') return !ref.lazy && ref.generation > 0;
  return ref.state === 'ready' || resting(ref.state);
}
