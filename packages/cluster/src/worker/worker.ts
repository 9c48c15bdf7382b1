/**
 * A worker's life: it says that it lives, finds the queues of its servers, takes chunks from them and runs them on its
 * runtime, and when it is told to stop it ends the calls in flight and gives the rest back.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BatchRuntime } from '@bulkhead/runtime';
import { serverDefaults } from '@bulkhead/runtime';
import { type ClusterLimits, clusterDefaults } from '../defaults.js';
import type { WorkerRecord } from '../ledger.js';
import { serves } from '../queue-names.js';
import type { Store } from '../store.js';
import { BatchWatch } from './batch-watch.js';
import { Bell } from './bell.js';
import type { ChunkRunOptions } from './chunk-run.js';
import { FleetPlaces } from './fleet-limits.js';
import { Intake } from './intake.js';
import { Serving } from './serving.js';
import { Shards } from './shards.js';
import { SharedRuntime } from './shared-runtime.js';
import { Slots } from './slots.js';
import { StoreWatch } from './store-watch.js';

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
  /** Told when the store goes away, refuses to be written, and is well again. Default: nobody is told. */
  onWarning?: (message: string) => void;
  /** Overrides of {@link clusterDefaults}. */
  limits?: Partial<ClusterLimits>;
}

/** What a worker does at this moment. */
export interface WorkerStats {
  id: string;
  /** Queues that are listened to. */
  queues: string[];
  /** Servers that cannot be used now, whose queues are left to other workers, with the reason. */
  unusable: ReadonlyMap<string, string>;
  /** Workers that it knows of with a server that they can use, itself included: what it divides fair shares by. */
  peers: number;
  chunks: number;
  inFlight: number;
  /** Lines answered since the start. */
  done: number;
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
  readonly #intake: Intake;
  readonly #shards: Shards;
  readonly #serving: Serving;
  readonly #storeWatch: StoreWatch;
  readonly #giveUp = new AbortController();
  #takings = 0;
  #beats = 0;
  #done = 0;
  #timer: NodeJS.Timeout | undefined;
  #isSoon = false;
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
    this.#intake = new Intake({
      store,
      limits,
      serverOf: (route) => this.#serving.serverOf(route),
      runOptions: (server, isShard) => this.#runOptions(server, isShard),
      othersCan: (server) => this.#serving.othersCan(server),
    });
    this.#shards = new Shards({
      store,
      owner: this.id,
      leaseMs: limits.leaseMs,
      open: (record) => this.#intake.open(record),
      close: (queue, why) => this.#intake.close(queue, why),
      isBusy: (queue) => this.#intake.isBusy(queue),
    });
    this.#storeWatch = new StoreWatch({
      place: store.place,
      silentMs: limits.leaseMs,
      onWarning: (message) => options.onWarning?.(message),
    });
    this.#serving = new Serving({
      worker: this.id,
      runtime: this.#runtime,
      servers: options.servers,
      limits,
      onChange: (server) => this.#serverChanged(server),
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
      queues: this.#intake.queues,
      unusable: this.#serving.unusable(),
      peers: this.#serving.peers.filter(({ servers }) => servers.length > 0).length,
      chunks: this.#intake.chunks,
      inFlight: this.#slots.taken,
      done: this.#done,
    };
  }

  /** At once: a chunk of it that is taken now would only come back. */
  #serverChanged(server: string): void {
    if (this.#stopping !== undefined) return;
    if (!this.#serving.takes(server)) {
      this.#intake.closeShared(server);
      this.#shards.leave((route) => serves(server, route));
    }
    this.#beatSoon();
  }

  // ── beats ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One after the other: while the store is away, the next one waits for it. */
  #beat(): void {
    this.#isSoon = false;
    this.#beating = this.#beatOnce()
      .catch(() => {}) // the next one tries again
      .finally(() => {
        this.#beating = undefined;
        this.#bell.ring();
        if (this.#stopping !== undefined) return;
        this.#timer = setTimeout(() => this.#beat(), this.#isSoon ? 0 : this.#limits.beatMs);
      });
  }

  /** Something is to be told, or looked for, before the next beat is due. */
  #beatSoon(): void {
    this.#isSoon = true;
    if (this.#beating !== undefined || this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#beat(), 0);
  }

  async #beatOnce(): Promise<void> {
    const { ledger } = this.#store;
    this.#serving.look();
    // First, so that the worker counts itself among its peers.
    await this.#storeWatch.follow(ledger.beat(this.#record(), this.#limits.leaseMs));
    await Promise.all([this.#places.renew(), this.#watch.refresh(), this.#findQueues()]);
  }

  async #findQueues(): Promise<void> {
    const { ledger } = this.#store;
    const queues = await ledger.queues();
    const { peers } = this.#serving;
    // Every worker reads all others: in a large fleet less often, or the cost would grow with its square.
    const every = Math.ceil(peers.length / this.#limits.peersPerBeat);
    const known = this.#beats++ % Math.max(1, every) === 0 ? await ledger.workers() : peers;
    this.#serving.met(known, queues);
    if (this.#stopping !== undefined) return;
    const taken = queues.filter(({ server: route }) => {
      const server = this.#serving.serverOf(route);
      return server !== undefined && this.#serving.takes(server);
    });
    for (const record of taken) if (record.shard === undefined) this.#intake.open(record);
    this.#intake.closeOthers(new Set(taken.map(({ queue }) => queue)));
    await this.#shards.tick(
      taken.filter(({ shard }) => shard !== undefined),
      this.#serving.peers,
    );
  }

  #record(): WorkerRecord {
    const { id, chunks, inFlight, done } = this.stats();
    const place = { host: hostname(), pid: process.pid, startedAt: this.#startedAt };
    return { id, ...place, ...this.#serving.record(), inFlight, chunks, done };
  }

  #windowOf(server: string): number {
    return this.#options.windows?.get(server) ?? serverDefaults.window;
  }

  #runOptions(server: string, isShard: boolean): Omit<ChunkRunOptions, 'onStart' | 'givesBack'> {
    return {
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
      refusal: this.#serving.refusal(server),
      window: this.#windowOf(server),
      fairShare: (limit) => this.#serving.fairShare(server, limit),
      owner: `${this.id}:${this.#takings++}`,
      giveUp: this.#giveUp.signal,
      onLine: () => {
        this.#done++;
      },
    };
  }

  // ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #stop(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    const cut = setTimeout(() => this.#intake.cut(), graceMs);
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
    this.#storeWatch.close();
    this.#serving.close();
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
      await this.#intake.closeAll();
      await Promise.allSettled([this.#shards.close(), this.#store.ledger.beat(this.#record(), 0)]);
    } finally {
      clearInterval(renewal);
    }
  }
}
