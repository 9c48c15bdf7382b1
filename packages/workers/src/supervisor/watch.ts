/** The watchdog's rounds: reads the board, asks the pure policy, pings idle sessions, declares dead threads dead. */
import type { Board } from '../board.js';
import { now } from '../clock.js';
import type { SupervisorOptions } from '../protocol.js';
import type { Child } from './child.js';
import { type WatchState, watched, watchInitial } from './watchdog.js';

/** A verdict this much later than its limit was not in time itself. */
const LATE_PING_MS = 500;

export class Watch {
  readonly #board: Board;
  readonly #options: SupervisorOptions;
  readonly #children: () => Iterable<Child>;
  /** When each child was last seen in use. */
  readonly #used = new Map<Child, { at: number; calls: number }>();
  readonly #states = new Map<Child, { generation: number; state: WatchState }>();
  readonly #interval: NodeJS.Timeout;

  constructor(board: Board, options: SupervisorOptions, children: () => Iterable<Child>) {
    this.#board = board;
    this.#options = options;
    this.#children = children;
    this.#interval = setInterval(() => this.#round(), options.watchdogRoundMs);
  }

  stop(): void {
    clearInterval(this.#interval);
  }

  #round(): void {
    const at = now();
    const seen = new Set<Child>();
    for (const child of this.#children()) {
      this.#stopIfIdle(child, at);
      if (child.thread === undefined || child.thread.gone) continue;
      seen.add(child);
      this.#look(child, at);
    }
    for (const child of this.#states.keys()) if (!seen.has(child)) this.#states.delete(child);
    for (const child of this.#used.keys()) if (!seen.has(child)) this.#used.delete(child);
  }

  /** `idleStopMs` counts from the last call or the last start; pings and logs are not use. */
  #stopIfIdle(child: Child, at: number): void {
    const { idleStopMs } = child.spec;
    if (idleStopMs <= 0 || child.state !== 'ready') {
      this.#used.delete(child);
      return;
    }
    const calls = this.#board.get(child.slot, 'calls');
    const used = this.#used.get(child);
    if (used === undefined || used.calls !== calls || this.#board.get(child.slot, 'inFlight') > 0) {
      this.#used.set(child, { at, calls });
    } else if (at - used.at >= idleStopMs) {
      void child.stop('idle');
    }
  }

  #look(child: Child, at: number): void {
    const input = {
      now: at,
      beat: this.#board.get(child.slot, 'heartbeat'),
      bytes: this.#board.get(child.slot, 'bytes'),
      inFlight: this.#board.get(child.slot, 'inFlight'),
    };
    const known = this.#states.get(child);
    const before = known?.generation === child.generation ? known.state : watchInitial(input);
    const { state, verdict } = watched(before, input, this.#options);
    this.#states.set(child, { generation: child.generation, state });
    switch (verdict) {
      case 'ok':
      case 'skip':
        return;
      case 'suspect':
        child.warn(
          `server thread #${child.generation} has not shown a heartbeat for ${this.#options.suspectAfterMs} ms`,
        );
        return;
      case 'dead':
        child.declareDead({
          kind: 'watchdog',
          message: `its thread showed no heartbeat for ${this.#options.deadAfterMs} ms (it spins or is stuck) and was terminated`,
        });
        return;
      case 'ping':
        if (child.state === 'ready') this.#ping(child);
        return;
      default:
        verdict satisfies never;
    }
  }

  /** A session that does not answer while nothing is in flight is lost; any reply at all is life. */
  #ping(child: Child): void {
    const { generation, thread } = child;
    const { pingTimeoutMs } = this.#options;
    const askedAt = now();
    const bytes = this.#board.get(child.slot, 'bytes');
    thread?.control.call('ping', [pingTimeoutMs], { timeoutMs: pingTimeoutMs + 1_000 }).catch(() => {
      const busy = this.#board.get(child.slot, 'inFlight') > 0;
      // A host that was stopped finds its timers due before it reads what came meanwhile: that proves nothing.
      const late = now() - askedAt > pingTimeoutMs + LATE_PING_MS;
      if (late || this.#board.get(child.slot, 'bytes') !== bytes) return;
      if (child.generation !== generation || child.state !== 'ready' || busy) return;
      child.declareDead({
        kind: 'ping',
        message: `it did not answer a ping within ${pingTimeoutMs} ms while idle`,
      });
    });
  }
}
