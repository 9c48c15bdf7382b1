/** The queues that a worker listens to: chunks are taken from them, and go back to them when they cannot be run here. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import { type Chunk, parseChunk } from '../chunk.js';
import type { ClusterLimits } from '../defaults.js';
import type { QueueRecord } from '../ledger.js';
import { settleFailed } from '../settle.js';
import type { ChunkJob, ChunkWorker, Store } from '../store.js';
import { ChunkRun, type ChunkRunOptions, type RunEnd } from './chunk-run.js';
import { Delays } from './delays.js';

/**
 * An idle worker looks for chunks at least this often, as a share of `lockMs`: the queue wakes one worker for each chunk, and
 * one that is frozen swallows it.
 */
const IDLE_SHARE = 0.2;
/** Longest pause of a chunk that nobody can run now, in times of the shortest. */
const LONGEST_PAUSE = 30;

export interface IntakeOptions {
  store: Store;
  limits: ClusterLimits;
  /** The server behind a queue's name for it; undefined: it is not this worker's. */
  serverOf: (route: string) => string | undefined;
  /** For each taking anew. */
  runOptions: (server: string, isShard: boolean) => Omit<ChunkRunOptions, 'onStart' | 'givesBack'>;
  /** Another worker can use the server now. */
  othersCan: (server: string) => boolean;
}

interface Listener {
  server: string;
  isShard: boolean;
  worker: ChunkWorker;
  runs: Set<ChunkRun>;
  closed: AbortController;
}

export class Intake {
  readonly #options: IntakeOptions;
  readonly #delays: Delays;
  readonly #listeners = new Map<string, Listener>();
  /** Of closed queues too, until they have ended. */
  readonly #runs = new Set<ChunkRun>();
  readonly #closing = new Set<Promise<void>>();
  #isOver = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#delays = new Delays(options.limits.delayMs);
  }

  get queues(): string[] {
    return [...this.#listeners.keys()].sort();
  }

  /** Chunks in hand. */
  get chunks(): number {
    return this.#runs.size;
  }

  isBusy(queue: string): boolean {
    return (this.#listeners.get(queue)?.runs.size ?? 0) > 0;
  }

  open({ queue, server: route, shard }: QueueRecord): void {
    const { store, limits, serverOf } = this.#options;
    const server = serverOf(route);
    if (server === undefined || this.#isOver || this.#listeners.has(queue)) return;
    const isShard = shard !== undefined;
    // One chunk of a shard at a time over the whole fleet: a lost worker's comes back before the next one may start.
    const ready = isShard
      ? store.patiently(() => store.queue(queue).setGlobalConcurrency(1))
      : Promise.resolve(1);
    const worker = store.worker(queue, (job, token) => this.#process(queue, job, token), {
      autorun: false,
      concurrency: isShard ? 1 : limits.chunksPerServer,
      lockDuration: limits.lockMs,
      stalledInterval: limits.stalledEveryMs,
      maxStalledCount: limits.maxStalled,
      runRetryDelay: limits.delayMs,
      drainDelay: (limits.lockMs * IDLE_SHARE) / 1_000,
    });
    const runs = new Set<ChunkRun>();
    this.#listeners.set(queue, { server, isShard, worker, runs, closed: new AbortController() });
    const settle = (): void => void settleFailed(store, queue).catch(() => {});
    worker.on('failed', settle);
    worker.on('lockRenewalFailed', (jobs: string[]) => {
      for (const run of runs) if (jobs.includes(run.job)) run.stop('fenced');
    });
    void ready.then(() => worker.run()).catch(() => this.close(queue)); // opened again by a later beat
    settle();
  }

  /** Queues that no batch has chunks in. */
  closeOthers(listed: ReadonlySet<string>): void {
    for (const [queue, { runs }] of this.#listeners) {
      if (!listed.has(queue) && runs.size === 0) void this.close(queue);
    }
  }

  /** Queues of a server, for as long as it cannot be used; those of shards are closed by who holds them. */
  closeShared(server: string): void {
    for (const [queue, listener] of this.#listeners) {
      if (listener.server === server && !listener.isShard) void this.close(queue, 'unusable');
    }
  }

  /** Resolves once nothing of the queue runs here: calls in flight have ended, the rest is given back. */
  async close(queue: string, why: 'stopping' | 'unusable' = 'stopping'): Promise<void> {
    const listener = this.#listeners.get(queue);
    if (listener === undefined) return;
    this.#listeners.delete(queue);
    // In this order: a chunk that is given back must not come here again.
    const closed = listener.worker.close().catch(() => {});
    for (const run of listener.runs) run.stop(why);
    listener.closed.abort();
    this.#closing.add(closed);
    await closed;
    this.#closing.delete(closed);
  }

  async closeAll(): Promise<void> {
    this.#isOver = true;
    for (const queue of [...this.#listeners.keys()]) void this.close(queue);
    await Promise.all(this.#closing);
  }

  /** Calls in flight end now, as `cancelled`. */
  cut(): void {
    for (const run of this.#runs) run.cut();
  }

  async #process(queue: string, job: ChunkJob, token: string | undefined): Promise<void> {
    const listener = this.#listeners.get(queue);
    if (listener === undefined) return this.#back(job, token);
    const run = this.#makeRun(job, listener);
    listener.runs.add(run);
    this.#runs.add(run);
    let end: RunEnd;
    try {
      end = await run.run();
    } finally {
      listener.runs.delete(run);
      this.#runs.delete(run);
    }
    switch (end.is) {
      case 'done':
        return;
      case 'lost':
        throw new Error(`chunk "${run.job}" is another worker's`);
      case 'again':
        if (end.why === 'unusable') return this.#leave(job, token, listener);
        if (listener.isShard || end.why === 'stopping') return this.#back(job, token);
        await job.moveToDelayed(Date.now() + this.#delays.next(job.data.batch), token);
        throw new DelayedError();
    }
  }

  /** The server cannot be used here: another worker, or a later time, may do. */
  async #leave(
    job: ChunkJob,
    token: string | undefined,
    { server, isShard, closed }: Listener,
  ): Promise<void> {
    const { limits, othersCan } = this.#options;
    const { times = 0, since = Date.now() } = job.data.back ?? {};
    await job.updateData({ ...job.data, back: { times: times + 1, since } });
    const pauseMs = othersCan(server)
      ? limits.delayMs
      : Math.min(limits.delayMs * 2 ** times, limits.delayMs * LONGEST_PAUSE);
    if (isShard) {
      // Behind it stand chunks that must not come first.
      await sleep(pauseMs, undefined, { signal: closed.signal }).catch(() => {});
      return this.#back(job, token);
    }
    await job.moveToDelayed(Date.now() + pauseMs, token);
    throw new DelayedError();
  }

  #mayGiveBack({ back }: Chunk, server: string): boolean {
    if (back === undefined) return true;
    const { limits, othersCan } = this.#options;
    if (Date.now() - back.since >= limits.notReadyMs) return false;
    return back.times < limits.notReadyTimes || !othersCan(server);
  }

  #makeRun(job: ChunkJob, { server, isShard }: Listener): ChunkRun {
    const id = job.id ?? '';
    try {
      const chunk = parseChunk(job.data, id);
      const options = this.#options.runOptions(server, isShard);
      return new ChunkRun(id, chunk, {
        ...options,
        givesBack: options.refusal === undefined && this.#mayGiveBack(chunk, server),
        onStart: () => this.#delays.reset(chunk.batch),
      });
    } catch (error) {
      throw new UnrecoverableError((error as Error).message);
    }
  }

  /** To the front of its queue: it keeps its place before the chunks behind it. */
  async #back(job: ChunkJob, token: string | undefined): Promise<never> {
    await job.moveToWait(token);
    throw new WaitingError();
  }
}
