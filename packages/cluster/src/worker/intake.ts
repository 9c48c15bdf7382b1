/** The queues that a worker listens to: chunks are taken from them, and go back to them when they cannot be run here. */
import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import { parseChunk } from '../chunk.js';
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

export interface IntakeOptions {
  store: Store;
  limits: ClusterLimits;
  /** The server behind a queue's name for it; undefined: it is not this worker's. */
  serverOf: (route: string) => string | undefined;
  /** For each taking anew. */
  runOptions: (server: string, isShard: boolean) => Omit<ChunkRunOptions, 'onStart'>;
}

interface Listener {
  server: string;
  isShard: boolean;
  worker: ChunkWorker;
  runs: Set<ChunkRun>;
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
    const ready = isShard ? store.queue(queue).setGlobalConcurrency(1) : Promise.resolve(1);
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
    this.#listeners.set(queue, { server, isShard, worker, runs });
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

  /** Resolves once nothing of the queue runs here: calls in flight have ended, the rest is given back. */
  async close(queue: string): Promise<void> {
    const listener = this.#listeners.get(queue);
    if (listener === undefined) return;
    this.#listeners.delete(queue);
    // In this order: a chunk that is given back must not come here again.
    const closed = listener.worker.close().catch(() => {});
    for (const run of listener.runs) run.stop('stopping');
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
        if (listener.isShard || end.why === 'stopping') return this.#back(job, token);
        await job.moveToDelayed(Date.now() + this.#delays.next(job.data.batch), token);
        throw new DelayedError();
    }
  }

  #makeRun(job: ChunkJob, { server, isShard }: Listener): ChunkRun {
    const id = job.id ?? '';
    try {
      const chunk = parseChunk(job.data, id);
      const options = this.#options.runOptions(server, isShard);
      return new ChunkRun(id, chunk, { ...options, onStart: () => this.#delays.reset(chunk.batch) });
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
