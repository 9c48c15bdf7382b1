/** The servers of a worker as the fleet sees them: under which names, whether this worker can use them, and who else can. */
import type { ClusterLimits } from '../defaults.js';
import type { QueueRecord, WorkerRecord } from '../ledger.js';
import { routesOf, serves } from '../queue-names.js';
import { Readiness } from './readiness.js';
import type { SharedRuntime } from './shared-runtime.js';

export interface ServingOptions {
  /** Id of the worker. */
  worker: string;
  runtime: SharedRuntime;
  /** Undefined: all of the runtime, which may change while the worker lives. */
  servers: readonly string[] | undefined;
  limits: Pick<ClusterLimits, 'serverGraceMs' | 'notReadyMs'>;
  /** What {@link Serving.takes} says of the server may be another now. */
  onChange: (server: string) => void;
}

const MS_PER_SECOND = 1_000;

export class Serving {
  readonly #options: ServingOptions;
  readonly #readiness: Readiness;
  #peers: readonly WorkerRecord[] = [];
  /** All names under which the servers are queued. */
  #routes: readonly string[] = [];

  constructor(options: ServingOptions) {
    this.#options = options;
    this.#readiness = new Readiness({
      runtime: options.runtime,
      servers: () => this.servers,
      graceMs: options.limits.serverGraceMs,
      now: () => performance.now(),
      onChange: options.onChange,
    });
  }

  close(): void {
    this.#readiness.close();
  }

  get servers(): readonly string[] {
    return this.#options.servers ?? this.#options.runtime.servers().map(({ name }) => name);
  }

  get peers(): readonly WorkerRecord[] {
    return this.#peers;
  }

  serverOf(route: string): string | undefined {
    return this.servers.find((server) => serves(server, route));
  }

  /** Looks again which servers can be used. */
  look(): void {
    this.#readiness.look((server) => this.othersCan(server));
  }

  /** What the store knows of the fleet now. */
  met(peers: readonly WorkerRecord[], queues: readonly QueueRecord[]): void {
    this.#peers = peers;
    const listed = queues.map(({ server }) => server).filter((route) => this.serverOf(route) !== undefined);
    this.#routes = [...new Set([...this.servers.flatMap(routesOf), ...listed])];
  }

  /** Whether chunks of the server are taken: to run them, or because nobody else will. */
  takes(server: string): boolean {
    return this.#readiness.reason(server) === undefined || this.refusal(server) !== undefined;
  }

  /** After a time in which no worker could use the server its lines are taken all the same, and end with this. */
  refusal(server: string): string | undefined {
    const { notReadyMs } = this.#options.limits;
    const reason = this.#readiness.reason(server);
    if (reason === undefined || this.#readiness.lonelyMs(server) < notReadyMs) return undefined;
    const seconds = Math.round(notReadyMs / MS_PER_SECOND);
    return `no worker could use server "${server}" for ${seconds} s; here it is ${reason}`;
  }

  /** Another worker can use the server now. */
  othersCan(server: string): boolean {
    return this.#usersOf(server).some(({ id }) => id !== this.#options.worker);
  }

  /** Of something that all workers share which can use the server now: this one's part. */
  fairShare(server: string, all: number): number {
    return Math.max(1, Math.ceil(all / Math.max(1, this.#usersOf(server).length)));
  }

  /** Servers that cannot be used now, and why. */
  unusable(): ReadonlyMap<string, string> {
    return new Map(
      this.servers.flatMap((server) => {
        const reason = this.#readiness.reason(server);
        return reason === undefined ? [] : [[server, reason]];
      }),
    );
  }

  /** For others to know. */
  record(): Required<Pick<WorkerRecord, 'servers' | 'unusable'>> {
    if (this.#routes.length === 0) this.#routes = this.servers.flatMap(routesOf);
    const servers: string[] = [];
    const unusable: { server: string; reason: string }[] = [];
    for (const route of this.#routes) {
      const reason = this.#readiness.reason(this.serverOf(route) ?? '');
      if (reason === undefined) servers.push(route);
      else unusable.push({ server: route, reason });
    }
    return { servers, unusable };
  }

  #usersOf(server: string): readonly WorkerRecord[] {
    const routes = routesOf(server);
    return this.#peers.filter(({ servers }) => routes.some((route) => servers.includes(route)));
  }
}
