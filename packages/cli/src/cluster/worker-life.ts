/** A worker from its first look at the queues to its end, and what it says meanwhile. */
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { ClusterWorker } from '@bulkhead/cluster';
import type { RuntimeApi, RuntimeEvents, ServerState } from '@bulkhead/runtime';
import type { Context } from '../context.js';
import { plain } from '../output.js';
import { LiveLine } from './live-line.js';
import { RateMeter } from './rate-meter.js';

export interface LifeFacts {
  /** Whose calls are taken. */
  servers: readonly string[];
  /** Where from, without a password. */
  place: string;
  /** Ends when there was nothing to do for so long; undefined: never. */
  idleMs: number | undefined;
}

const TELL_EVERY_MS = 10_000;
/** How often in the idle time it is looked whether there is something to do. */
const IDLE_LOOKS = 20;
const SHORTEST_LOOK_MS = 50;
/** States that whoever reads the worker's log should know of. */
const TOLD: ReadonlySet<ServerState> = new Set(['backoff', 'quarantined', 'needs-approval', 'needs-auth']);

/** Resolves when the worker has ended: by a signal, or by idleness. */
export async function live(
  makeWorker: (onWarning: (message: string) => void) => ClusterWorker,
  runtime: RuntimeApi,
  { servers, place, idleMs }: LifeFacts,
  { output, interrupt }: Context,
): Promise<void> {
  const worker = makeWorker((message) => line.note(`warning: ${plain(message)}`));
  const line: LiveLine = new LiveLine(output, { everyMs: TELL_EVERY_MS }, statusLine(worker, output.json));
  line.note(
    `worker ${hostname()}:${process.pid} takes calls of ${servers.map(plain).join(', ')} from ${plain(place)}`,
  );
  runtime.on('state', ({ server, state, reason }: RuntimeEvents['state'][0]) => {
    if (server === '' || !TOLD.has(state)) return;
    const why = reason === undefined ? '' : `: ${plain(reason.message)}`;
    line.note(`server "${plain(server)}" is ${state}${why}`);
  });
  const onSignal = (): void =>
    line.note(
      'ending: calls in flight may finish, the rest goes back to the queues; a second signal ends at once',
    );
  interrupt.signal.addEventListener('abort', onSignal, { once: true });
  const ended = new AbortController();
  const idle = idleMs === undefined ? undefined : endWhenIdle(worker, idleMs, line, ended.signal);
  try {
    await worker.run();
  } finally {
    ended.abort();
    await idle;
    interrupt.signal.removeEventListener('abort', onSignal);
    line.end();
  }
  output.note(`worker ended; ${worker.stats().done} lines done`);
}

async function endWhenIdle(
  worker: ClusterWorker,
  idleMs: number,
  line: LiveLine,
  signal: AbortSignal,
): Promise<void> {
  const lookMs = Math.max(SHORTEST_LOOK_MS, idleMs / IDLE_LOOKS);
  let idleSince = performance.now();
  let lastDone = 0;
  while (!signal.aborted) {
    const { chunks, inFlight, done } = worker.stats();
    if (chunks + inFlight > 0 || done !== lastDone) idleSince = performance.now();
    lastDone = done;
    if (performance.now() - idleSince >= idleMs) {
      line.note('there is nothing to do any more');
      return worker.stop();
    }
    await wait(lookMs, undefined, { signal }).catch(() => {});
  }
}

function statusLine(worker: ClusterWorker, json: boolean): () => string {
  const rate = new RateMeter();
  rate.look(0, performance.now());
  return () => {
    const { queues, unusable, ...stats } = worker.stats();
    const perSecond = Math.round(rate.look(stats.done, performance.now()) ?? 0);
    if (json)
      return JSON.stringify({
        worker: { ...stats, queues, unusable: Object.fromEntries(unusable), perSecond },
      });
    return `${stats.done} lines done (${perSecond}/s), ${stats.inFlight} in flight, ${stats.chunks} chunks of ${queues.length} queues`;
  };
}
