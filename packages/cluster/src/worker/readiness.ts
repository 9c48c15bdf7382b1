/**
 * Which of a worker's servers can be used now. One that cannot must not draw calls that another worker can make. One that
 * crashed and starts again keeps its queues for a moment, in which its lines wait.
 */
import type { BatchRuntime, BatchServer, RuntimeEvents } from '@bulkhead/runtime';

export interface ReadinessOptions {
  runtime: BatchRuntime;
  servers: () => readonly string[];
  /** How long a server that was ready may be away, in ms. */
  graceMs: number;
  /** In ms, monotonic. */
  now: () => number;
  /** The server can be used now, or cannot any more. */
  onChange: (server: string) => void;
}

/** Somebody has to do something, or time has to pass. */
const RESTING: ReadonlySet<string> = new Set([
  'draining',
  'quarantined',
  'needs-auth',
  'needs-approval',
  'disabled',
]);
/** The last start, or the last run, has failed. */
const FAILED: ReadonlySet<string> = new Set(['backoff', 'lost']);
/** Of `stopped`: not undone by the next call. */
const FOR_GOOD: ReadonlySet<string> = new Set(['user', 'closed']);

export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #reasons = new Map<string, string>();
  readonly #wereReady = new Set<string>();
  /** Since when a server fails. */
  readonly #failing = new Map<string, number>();
  /** Since when no worker can use a server. */
  readonly #lonely = new Map<string, number>();

  constructor(options: ReadinessOptions) {
    this.#options = options;
    options.runtime.on('state', this.#onState);
  }

  close(): void {
    this.#options.runtime.off('state', this.#onState);
  }

  /** Why the server cannot be used; undefined: it can. */
  reason(server: string): string | undefined {
    return this.#reasons.get(server);
  }

  /** For how long no worker at all could use the server, in ms. */
  lonelyMs(server: string): number {
    const since = this.#lonely.get(server);
    return since === undefined ? 0 : this.#options.now() - since;
  }

  /** Looks again: a moment may be over, and who else can use a server changes. */
  look(othersCan: (server: string) => boolean): void {
    const servers = this.#options.servers();
    for (const server of servers) {
      this.#judge(server);
      if (!this.#reasons.has(server) || othersCan(server)) this.#lonely.delete(server);
      else if (!this.#lonely.has(server)) this.#lonely.set(server, this.#options.now());
    }
  }

  #judge(server: string): void {
    const reason = this.#why(server, this.#view(server));
    if (reason === undefined) {
      this.#lonely.delete(server);
      if (this.#reasons.delete(server)) this.#options.onChange(server);
      return;
    }
    const isNew = !this.#reasons.has(server);
    this.#reasons.set(server, reason);
    if (isNew) this.#options.onChange(server);
  }

  #why(server: string, view: BatchServer | undefined): string | undefined {
    if (view === undefined) return 'it is not in the config any more';
    const { state, reason } = view;
    const text = `${state}${reason === undefined ? '' : `: ${reason.message}`}`;
    if (state === 'ready') {
      this.#wereReady.add(server);
      this.#failing.delete(server);
      return undefined;
    }
    if (RESTING.has(state)) return text;
    if (state === 'stopped') return FOR_GOOD.has(reason?.kind ?? '') ? text : undefined;
    const { now, graceMs } = this.#options;
    if (FAILED.has(state) && !this.#failing.has(server)) this.#failing.set(server, now());
    const since = this.#failing.get(server);
    if (since === undefined) return this.#reasons.get(server);
    return this.#wereReady.has(server) && now() - since < graceMs ? undefined : text;
  }

  #view(server: string): BatchServer | undefined {
    return this.#options.runtime.servers().find(({ name }) => name === server);
  }

  readonly #onState = ({ server }: RuntimeEvents['state'][0]): void => {
    if (this.#options.servers().includes(server) || this.#reasons.has(server)) this.#judge(server);
  };
}
