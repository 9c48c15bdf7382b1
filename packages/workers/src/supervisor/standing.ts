/**
 * How a server stands, and who is told: its state with the reason, its list of tools, its warnings. Every change reaches the
 * board and all agents from here, in the order in which it happened.
 */
import type { Board } from '../board.js';
import { now } from '../clock.js';
import {
  type Reason,
  type ServerCatalog,
  type ServerState,
  type ServerStatus,
  type SupervisorNotice,
  serverStates,
} from '../protocol.js';
import { canMove } from './transitions.js';

/** Of warnings, the last ones are kept. */
const MAX_WARNINGS = 20;

/** What of a server's status is known here. */
export type StandingStatus = Pick<
  ServerStatus,
  | 'state'
  | 'since'
  | 'tools'
  | 'quarantinedTools'
  | 'warnings'
  | 'reason'
  | 'nextTryMs'
  | 'protocolVersion'
  | 'serverInfo'
>;

export class Standing {
  /** Counts the threads that served this server. */
  generation = 0;
  /** When the next try is due, while there is one to wait for. */
  nextTryAt: number | undefined;
  readonly #server: { name: string; slot: number };
  readonly #board: Board;
  readonly #tell: (notice: SupervisorNotice) => void;
  readonly #waiters = new Set<() => void>();
  #state: ServerState = 'stopped';
  #since = now();
  #reason: Reason | undefined;
  #catalog: ServerCatalog | undefined;
  #isCached = false;
  #revision = 0;
  #warnings: string[] = [];

  constructor(
    server: { name: string; slot: number },
    board: Board,
    tell: (notice: SupervisorNotice) => void,
  ) {
    this.#server = server;
    this.#board = board;
    this.#tell = tell;
  }

  get state(): ServerState {
    return this.#state;
  }

  move(state: ServerState, reason?: Reason): void {
    if (reason !== undefined) this.#reason = reason;
    if (state === this.#state) return;
    if (!canMove(this.#state, state)) this.warn(`unexpected change of state ${this.#state} → ${state}`);
    this.#state = state;
    this.#since = now();
    this.#board.set(this.#server.slot, 'state', serverStates.indexOf(state));
    this.#tell(this.#stateNotice());
    for (const waiter of this.#waiters) waiter();
  }

  /** Told with the next change of state. */
  because(reason: Reason): void {
    this.#reason = reason;
  }

  /** A stop by hand is no reason any more once the server starts; a failure is, until it is well again. */
  forgetStop(): void {
    if (this.#reason?.kind === 'user' || this.#reason?.kind === 'idle') this.#reason = undefined;
  }

  warn(message: string): void {
    if (this.#warnings.includes(message)) return;
    this.#warnings = [...this.#warnings.slice(1 - MAX_WARNINGS), message];
    this.#tell({ type: 'warning', server: this.#server.name, message });
  }

  publish(catalog: ServerCatalog): void {
    this.#isCached = false;
    this.#revision++;
    this.#show(catalog);
  }

  /** The list of an earlier run, for a server that may not be started before its first call. */
  recall(catalog: ServerCatalog): void {
    this.#isCached = true;
    this.#show(catalog);
  }

  /** What a newly attached agent must know. */
  introduce(tell: (notice: SupervisorNotice) => void): void {
    if (this.#catalog !== undefined) tell(this.#catalogNotice(this.#catalog));
    tell(this.#stateNotice());
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        const waiter = () => {
          this.#waiters.delete(waiter);
          resolve();
        };
        this.#waiters.add(waiter);
      });
    }
  }

  status(): StandingStatus {
    const status: StandingStatus = {
      state: this.#state,
      since: this.#since,
      tools: this.#catalog?.tools.length ?? 0,
      quarantinedTools: this.#catalog?.quarantined ?? [],
      warnings: [...this.#warnings, ...(this.#catalog?.warnings ?? [])],
    };
    if (this.#reason !== undefined) status.reason = this.#reason;
    if (this.nextTryAt !== undefined) status.nextTryMs = Math.max(0, this.nextTryAt - now());
    if (this.#catalog !== undefined) {
      status.protocolVersion = this.#catalog.protocolVersion;
      status.serverInfo = this.#catalog.serverInfo;
    }
    return status;
  }

  #show(catalog: ServerCatalog): void {
    this.#catalog = catalog;
    this.#tell(this.#catalogNotice(catalog));
  }

  #catalogNotice(catalog: ServerCatalog): SupervisorNotice {
    return {
      type: 'catalog',
      server: this.#server.name,
      revision: this.#revision,
      catalog,
      cached: this.#isCached,
    };
  }

  #stateNotice(): SupervisorNotice {
    const notice: SupervisorNotice = {
      type: 'state',
      server: this.#server.name,
      generation: this.generation,
      state: this.#state,
    };
    if (this.#reason !== undefined && this.#state !== 'ready') notice.reason = this.#reason;
    if (this.nextTryAt !== undefined) notice.nextTryMs = this.nextTryAt - now();
    return notice;
  }
}
