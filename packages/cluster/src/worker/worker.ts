/**
 * A worker's life: it says that it lives, finds the queues of its servers, takes chunks from them and runs them on its
 * runtime, and when it is told to stop it ends the calls in flight and gives the rest back.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BatchRuntime } from '@bulkhead/runtime';
import { serverDefaults } from '@bulkhead/runtime';
import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import { parseChunk } from '../chunk.js';
import { type ClusterLimits, clusterDefaults } from '../defaults.js';
import type { QueueRecord, WorkerRecord } from '../ledger.js';
import { routesOf, serves } from '../queue-names.js';
import { settleFailed } from '../settle.js';
import type { ChunkJob, ChunkWorker, Store } from '../store.js';
import { BatchWatch } from './batch-watch.js';
import { Bell } from './bell.js';
import { ChunkRun, type RunEnd } from './chunk-run.js';
import { Delays } from './delays.js';
import { FleetPlaces } from './fleet-limits.js';
import { Shards } from './shards.js';
import { SharedRuntime } from './shared-runtime.js';
import { Slots } from './slots.js';

/**
 * An idle worker looks for chunks at least this often, as a share of `lockMs`: the queue wakes one worker for each chunk, and
 * one that is frozen swallows it.
 */
const IDLE_SHARE = 0.2;

/** What a worker runs, and how much of it at once. */
export interface WorkerOptions {
  /** Runs the calls; it stays its owner's and is not closed. */
  runtime: BatchRuntime;
  /** Names of the runtime's servers whose calls are taken. Default: all. */
  servers?: readonly string[];
  /** Calls in flight over all servers, 1 or more. Default 256. */
  concurrency?: number;
  /** Calls in flight of one server, by name. Default 64. */
  windows?: ReadonlyMap<string, number>;
  /** Aborting does what {@link ClusterWorker.stop} does. */
  signal?: AbortSignal;
  /** Overrides of {@link clusterDefaults}. */
  limits?: Partial<ClusterLimits>;
}

/** What a worker does at this moment. */
export interface WorkerStats {
  id: string;
  /** Queues that are listened to. */
  queues: string[];
  chunks: number;
  inFlight: number;
  /** Lines answered since the start. */
  done: number;
}

interface Served {
  server: string;
  worker: ChunkWorker;
  runs: Set<ChunkRun>;
}

/** Takes chunks of batches from the queues of its servers and runs them. Made by `Cluster.worker()`. */
export class ClusterWorker {
  readonly id: string;
  readonly #store: Store;
  readonly #options: WorkerOptions;
  readonly #limits: ClusterLimits;
  readonly #startedAt = Date.now();
  readonly #bell = new Bell();
  readonly #runtime: SharedRuntime;
  readonly #watch: BatchWatch;
  readonly #places: FleetPlaces;
  readonly #slots: Slots;
  readonly #delays: Delays;
  readonly #shards: Shards;
  readonly #served = new Map<string, Served>();
  readonly #runs = new Set<ChunkRun>();
  readonly #closing = new Set<Promise<void>>();
  readonly #giveUp = new AbortController();
  #peers: readonly WorkerRecord[] = [];
  /** All names under which its servers are queued. */
  #routes: string[] = [];
  #takings = 0;
  #done = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #ended: () => void = () => {};
  readonly #end = new Promise<void>((resolve) => {
    this.#ended = resolve;
  });

  /** The store waits without limit for its server; it stays its owner's. */
  constructor(store: Store, options: WorkerOptions) {
    const limits: ClusterLimits = { ...clusterDefaults, ...options.limits };
    const { ledger } = store;
    this.id = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
    this.#store = store;
    this.#options = options;
    this.#limits = limits;
    this.#runtime = new SharedRuntime(options.runtime);
    this.#watch = new BatchWatch(ledger, this.#bell);
    this.#places = new FleetPlaces(ledger, limits.leaseMs);
    this.#slots = new Slots(Math.max(1, options.concurrency ?? limits.workerCalls), (server) =>
      this.#windowOf(server),
    );
    this.#delays = new Delays(limits.delayMs);
    this.#shards = new Shards({
      ledger,
      owner: this.id,
      leaseMs: limits.leaseMs,
      queue: (name) => store.queue(name),
      open: (record) => this.#open(record),
      close: (queue) => this.#close(queue),
      isBusy: (queue) => (this.#served.get(queue)?.runs.size ?? 0) > 0,
    });
  }

  /** Works until it is stopped. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    const stop = (): void => void this.stop();
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
    else this.#beat();
    await this.#end;
    signal?.removeEventListener('abort', stop);
  }

  /**
   * Takes no further chunk, sends no further call, waits for those in flight and gives the rest back to the queues.
   * @param graceMs Calls that take longer end as `cancelled`. Default 30 000.
   */
  stop({ graceMs = this.#limits.stopGraceMs }: { graceMs?: number } = {}): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  /** What it does at this moment. */
  stats(): WorkerStats {
    return {
      id: this.id,
      queues: [...this.#served.keys()].sort(),
      chunks: this.#runs.size,
      inFlight: this.#slots.taken,
      done: this.#done,
    };
  }

  // ── beats ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One after the other: while the store is away, the next one waits for it. */
  #beat(): void {
    this.#beating = this.#beatOnce()
      .catch(() => {}) // the next one tries again
      .finally(() => {
        this.#beating = undefined;
        this.#bell.ring();
        if (this.#stopping === undefined) this.#timer = setTimeout(() => this.#beat(), this.#limits.beatMs);
      });
  }

  async #beatOnce(): Promise<void> {
    const { ledger } = this.#store;
    if (this.#routes.length === 0) this.#routes = this.#servers.flatMap(routesOf);
    // First, so that the worker counts itself among its peers.
    await ledger.beat(this.#record(), this.#limits.leaseMs);
    await Promise.all([this.#places.renew(), this.#watch.refresh(), this.#findQueues()]);
  }

  async #findQueues(): Promise<void> {
    const { ledger } = this.#store;
    const listed = (await ledger.queues()).filter(({ server }) => this.#serverOf(server) !== undefined);
    this.#routes = [...new Set([...this.#servers.flatMap(routesOf), ...listed.map(({ server }) => server)])];
    this.#peers = await ledger.workers();
    if (this.#stopping !== undefined) return;
    const names = new Set(listed.map(({ queue }) => queue));
    for (const record of listed) {
      if (record.shard === undefined && !this.#served.has(record.queue)) this.#open(record);
    }
    for (const [queue, { runs }] of this.#served) {
      if (!names.has(queue) && runs.size === 0) void this.#close(queue);
    }
    await this.#shards.tick(
      listed.filter(({ shard }) => shard !== undefined),
      this.#peers,
    );
  }

  #record(): WorkerRecord {
    const { id, chunks, inFlight, done } = this.stats();
    const place = { host: hostname(), pid: process.pid, startedAt: this.#startedAt };
    return { id, ...place, servers: this.#routes, inFlight, chunks, done };
  }

  /** The runtime's may change while the worker lives. */
  get #servers(): readonly string[] {
    return this.#options.servers ?? this.#options.runtime.servers().map(({ name }) => name);
  }

  #serverOf(route: string): string | undefined {
    return this.#servers.find((server) => serves(server, route));
  }

  #windowOf(server: string): number {
    return this.#options.windows?.get(server) ?? serverDefaults.window;
  }

  // ── queues ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #open({ queue, server: route, shard }: QueueRecord): void {
    const server = this.#serverOf(route);
    if (server === undefined || this.#stopping !== undefined || this.#served.has(queue)) return;
    const isShard = shard !== undefined;
    const { lockMs, stalledEveryMs, maxStalled, chunksPerServer, delayMs } = this.#limits;
    // One chunk of a shard at a time over the whole fleet: a lost worker's comes back before the next one may start.
    const ready = isShard ? this.#store.queue(queue).setGlobalConcurrency(1) : Promise.resolve(1);
    const worker = this.#store.worker(queue, (job, token) => this.#process(queue, isShard, job, token), {
      autorun: false,
      concurrency: isShard ? 1 : chunksPerServer,
      lockDuration: lockMs,
      stalledInterval: stalledEveryMs,
      maxStalledCount: maxStalled,
      runRetryDelay: delayMs,
      drainDelay: (lockMs * IDLE_SHARE) / 1_000,
    });
    const served: Served = { server, worker, runs: new Set() };
    this.#served.set(queue, served);
    worker.on('failed', () => void settleFailed(this.#store, queue).catch(() => {}));
    worker.on('lockRenewalFailed', (jobs: string[]) => {
      for (const run of served.runs) if (jobs.includes(run.job)) run.stop('fenced');
    });
    void ready.then(() => worker.run()).catch(() => void this.#close(queue)); // opened again by a later beat
    void settleFailed(this.#store, queue).catch(() => {});
  }

  /** Resolves once nothing of the queue runs here. */
  async #close(queue: string): Promise<void> {
    const served = this.#served.get(queue);
    if (served === undefined) return;
    this.#served.delete(queue);
    // In this order: a chunk that is given back must not come here again.
    const closed = served.worker.close().catch(() => {});
    for (const run of served.runs) run.stop('stopping');
    this.#closing.add(closed);
    await closed;
    this.#closing.delete(closed);
  }

  // ── chunks ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #process(queue: string, isShard: boolean, job: ChunkJob, token: string | undefined): Promise<void> {
    const served = this.#served.get(queue);
    const id = job.id ?? '';
    if (served === undefined) return this.#back(job, token);
    let run: ChunkRun;
    try {
      run = this.#makeRun(id, job, served.server, isShard);
    } catch (error) {
      throw new UnrecoverableError((error as Error).message);
    }
    served.runs.add(run);
    this.#runs.add(run);
    let end: RunEnd;
    try {
      end = await run.run();
    } finally {
      served.runs.delete(run);
      this.#runs.delete(run);
    }
    switch (end.is) {
      case 'done':
        return;
      case 'lost':
        throw new Error(`chunk "${id}" is another worker's`);
      case 'again':
        if (isShard || end.why === 'stopping') return this.#back(job, token);
        await job.moveToDelayed(Date.now() + this.#delays.next(job.data.batch), token);
        throw new DelayedError();
    }
  }

  /** To the front of its queue: it keeps its place before the chunks behind it. */
  async #back(job: ChunkJob, token: string | undefined): Promise<never> {
    await job.moveToWait(token);
    throw new WaitingError();
  }

  #makeRun(id: string, job: ChunkJob, server: string, isShard: boolean): ChunkRun {
    const chunk = parseChunk(job.data, id);
    return new ChunkRun(id, chunk, {
      runtime: this.#runtime,
      ledger: this.#store.ledger,
      place: this.#store.place,
      watch: this.#watch,
      bell: this.#bell,
      slots: this.#slots,
      places: this.#places,
      limits: this.#limits,
      server,
      isShard,
      window: this.#windowOf(server),
      fairShare: (limit) => Math.max(1, Math.ceil(limit / Math.max(1, this.#peersOf(server)))),
      owner: `${this.id}:${this.#takings++}`,
      giveUp: this.#giveUp.signal,
      onLine: () => {
        this.#done++;
      },
      onStart: () => this.#delays.reset(chunk.batch),
    });
  }

  #peersOf(server: string): number {
    const routes = routesOf(server);
    return this.#peers.filter(({ servers }) => routes.some((route) => servers.includes(route))).length;
  }

  // ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #stop(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    const cut = setTimeout(() => {
      for (const run of this.#runs) run.cut();
    }, graceMs);
    // A store that is away cannot take what is held, and its connections do not close by themselves.
    let gaveUp: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      gaveUp = setTimeout(() => {
        this.#giveUp.abort();
        resolve();
      }, graceMs + this.#limits.patienceMs);
    });
    await Promise.race([late, this.#leave()]);
    clearTimeout(cut);
    clearTimeout(gaveUp);
    this.#runtime.close();
    this.#ended();
  }

  async #leave(): Promise<void> {
    // Calls in flight keep their places of the fleet until they have ended.
    const renewal = setInterval(() => {
      void this.#places.renew().catch(() => {});
      this.#bell.ring();
    }, this.#limits.beatMs);
    try {
      await this.#beating;
      for (const queue of [...this.#served.keys()]) void this.#close(queue);
      await Promise.all(this.#closing);
      await Promise.allSettled([this.#shards.close(), this.#store.ledger.beat(this.#record(), 0)]);
    } finally {
      clearInterval(renewal);
    }
  }
}
