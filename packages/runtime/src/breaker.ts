/**
 * The circuit breaker of one server: while its transport keeps failing, calls are refused at once instead of waiting in
 * vain. Pure: time is an argument. Recording a success while closed costs a few integer writes and allocates nothing.
 */
import type { Outcome } from '@bulkhead/workers';

export const breakerDefaults = {
  /** Transport failures in a row that open the breaker. */
  consecutiveMax: 5,
  /** Failures of any kind among the calls of the window that open it, as a share from 0 to 1. */
  rateMax: 0.5,
  /** The share means nothing below this many calls. */
  rateMinCalls: 20,
  rateWindowMs: 30_000,
  /** First time open; doubles with every probe that fails, up to the cap. */
  openMs: 15_000,
  openCapMs: 120_000,
  /** Transport failures this close together are one event: a crash with 64 calls in flight is one failure, not 64. */
  incidentMs: 50,
} as const;

export type BreakerOptions = { [K in keyof typeof breakerDefaults]: number };

export type BreakerState =
  | { readonly type: 'closed' }
  /** `attempt` counts openings since the last success, from 0. */
  | { readonly type: 'open'; readonly until: number; readonly attempt: number }
  /** `probingSince` is undefined while no call is out to find out. */
  | { readonly type: 'half-open'; readonly attempt: number; readonly probingSince: number | undefined };

/** What an outcome says about the transport. */
type Evidence = 'answer' | 'transport' | 'timeout' | 'none';

/**
 * An answer is an answer: a tool's own `isError`, a JSON-RPC error and a result that is too large all show a transport
 * that works. A timeout is in between, for a slow tool is not a dead transport. What the caller cancelled or what never
 * left the agent says nothing.
 */
const evidence = {
  ok: 'answer',
  tool_error: 'answer',
  protocol_error: 'answer',
  too_large: 'answer',
  connection_lost: 'transport',
  outcome_unknown: 'transport',
  timeout: 'timeout',
  cancelled: 'none',
  rejected: 'none',
} as const satisfies Record<Outcome, Evidence>;

const CLOSED: BreakerState = { type: 'closed' };
const BUCKETS = 10;

/**
 * Opens on `consecutiveMax` transport failures in a row, or when at least `rateMax` of at least `rateMinCalls` calls
 * within `rateWindowMs` failed. Timeouts count towards the rate only, never towards the row. After the open time one
 * call at a time is let through: its answer closes the breaker, its failure (a timeout too) opens it for twice as long.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  readonly #window: RateWindow;
  #state: BreakerState = CLOSED;
  #consecutive = 0;
  #incidentAt = Number.NEGATIVE_INFINITY;

  constructor(options: Partial<BreakerOptions> = {}) {
    this.#options = { ...breakerDefaults, ...options };
    this.#window = new RateWindow(this.#options.rateWindowMs);
  }

  get state(): BreakerState {
    return this.#state;
  }

  /**
   * Whether a call may go. True in the half-open state makes that call the probe: whatever becomes of it must be
   * recorded. A call that was refused must not be. A probe that says nothing for `openMs` is joined by another.
   */
  allow(now: number): boolean {
    const state = this.#state;
    if (state.type === 'closed') return true;
    const free =
      state.type === 'open'
        ? now >= state.until
        : state.probingSince === undefined || now - state.probingSince >= this.#options.openMs;
    if (free) this.#state = { type: 'half-open', attempt: state.attempt, probingSince: now };
    return free;
  }

  /** Milliseconds until a call may be let through again; 0 when one may go now. */
  retryAfterMs(now: number): number {
    return this.#state.type === 'open' ? Math.max(0, this.#state.until - now) : 0;
  }

  /** Takes how an allowed call ended. While open, late ends of older calls are ignored. */
  record(outcome: Outcome, now: number): void {
    const said = evidence[outcome];
    switch (this.#state.type) {
      case 'closed':
        this.#recordClosed(said, now);
        return;
      case 'open':
        return;
      case 'half-open':
        if (said === 'answer') this.reset();
        else if (said === 'none') this.#state = { ...this.#state, probingSince: undefined };
        else this.#open(this.#state.attempt + 1, now);
        return;
      default:
        this.#state satisfies never;
    }
  }

  /** Closed, with no memory: for a server that a person restarted. */
  reset(): void {
    this.#state = CLOSED;
    this.#consecutive = 0;
    this.#incidentAt = Number.NEGATIVE_INFINITY;
    this.#window.clear();
  }

  #recordClosed(said: Evidence, now: number): void {
    if (said === 'none') return;
    if (said === 'answer') {
      this.#consecutive = 0;
      this.#window.add(now, false);
      return;
    }
    if (said === 'transport') {
      if (now - this.#incidentAt < this.#options.incidentMs) return;
      this.#incidentAt = now;
      this.#consecutive++;
    }
    this.#window.add(now, true);
    const { consecutiveMax, rateMax, rateMinCalls } = this.#options;
    const { calls, failures } = this.#window;
    const tooMany = calls >= rateMinCalls && failures >= calls * rateMax;
    if (this.#consecutive >= consecutiveMax || tooMany) this.#open(0, now);
  }

  #open(attempt: number, now: number): void {
    const { openMs, openCapMs } = this.#options;
    this.reset();
    this.#state = { type: 'open', until: now + Math.min(openCapMs, openMs * 2 ** attempt), attempt };
  }
}

/** Calls and failures of the last while, in ten buckets: old ones leave a tenth at a time. */
class RateWindow {
  calls = 0;
  failures = 0;
  readonly #bucketMs: number;
  readonly #calls = new Uint32Array(BUCKETS);
  readonly #failures = new Uint32Array(BUCKETS);
  /** Number of the newest bucket since time 0. */
  #newest = 0;

  constructor(windowMs: number) {
    this.#bucketMs = windowMs / BUCKETS;
  }

  add(now: number, failure: boolean): void {
    const bucket = Math.floor(now / this.#bucketMs);
    if (bucket > this.#newest) this.#advance(bucket);
    const index = this.#newest % BUCKETS;
    this.#calls[index] = (this.#calls[index] ?? 0) + 1;
    this.calls++;
    if (!failure) return;
    this.#failures[index] = (this.#failures[index] ?? 0) + 1;
    this.failures++;
  }

  clear(): void {
    this.calls = 0;
    this.failures = 0;
    this.#calls.fill(0);
    this.#failures.fill(0);
  }

  #advance(bucket: number): void {
    const steps = Math.min(BUCKETS, bucket - this.#newest);
    for (let step = 0; step < steps; step++) {
      const index = (bucket - step) % BUCKETS;
      this.calls -= this.#calls[index] ?? 0;
      this.failures -= this.#failures[index] ?? 0;
      this.#calls[index] = 0;
      this.#failures[index] = 0;
    }
    this.#newest = bucket;
  }
}
