/** What became of the lines, counted per server while the batch runs, in constant memory. Pure. */
import type { Outcome } from '@bulkhead/workers';
import { LatencyRecorder } from '../latency.js';
import type { ServerSummary } from './options.js';

interface ServerCount {
  calls: number;
  outcomes: Map<Outcome, number>;
  latency: LatencyRecorder;
}

export class Tally {
  readonly #servers = new Map<string, ServerCount>();
  readonly #outcomes = new Map<Outcome, number>();
  done = 0;
  badInput = 0;

  get ok(): number {
    return this.#outcomes.get('ok') ?? 0;
  }

  /** `callMs` is the latency of an answered call; undefined when the server gave no answer. */
  add(server: string | undefined, outcome: Outcome, callMs: number | undefined): void {
    this.done++;
    increment(this.#outcomes, outcome);
    if (server === undefined) return;
    let count = this.#servers.get(server);
    if (count === undefined) {
      count = { calls: 0, outcomes: new Map(), latency: new LatencyRecorder() };
      this.#servers.set(server, count);
    }
    count.calls++;
    increment(count.outcomes, outcome);
    if (callMs !== undefined) count.latency.record(callMs);
  }

  outcomes(): Partial<Record<Outcome, number>> {
    return Object.fromEntries(this.#outcomes);
  }

  /** Sorted by name. */
  servers(restarts: ReadonlyMap<string, number>): ServerSummary[] {
    const names = [...this.#servers.keys()].sort();
    return names.flatMap((server) => {
      const count = this.#servers.get(server);
      return count === undefined
        ? []
        : [
            {
              server,
              calls: count.calls,
              outcomes: Object.fromEntries(count.outcomes),
              latency: percentiles(count.latency),
              restarts: restarts.get(server) ?? 0,
            },
          ];
    });
  }
}

function percentiles(latency: LatencyRecorder): ServerSummary['latency'] {
  const figures = latency.snapshot();
  return figures === undefined ? undefined : { p50: figures.p50, p95: figures.p95, p99: figures.p99 };
}

function increment(counts: Map<Outcome, number>, outcome: Outcome): void {
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
}
