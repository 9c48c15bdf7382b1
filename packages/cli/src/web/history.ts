/** What the page's chart is drawn from: a figure of each server once a look, for the last ten minutes. Pure. */
import type { StatusReport } from '@bulkhead/runtime/control/client';

/** Ten minutes at one look a second. */
const KEPT = 600;

export interface Sample {
  /** Milliseconds since 1970. */
  at: number;
  /** Latencies in ms of all answered calls so far, null before the first; two samples give what came in between. */
  servers: [name: string, mean: number | null, p99: number | null, answered: number, calls: number][];
}

export class History {
  readonly #samples: Sample[] = [];

  get samples(): readonly Sample[] {
    return this.#samples;
  }

  add({ servers }: StatusReport, at: number): Sample {
    const sample: Sample = {
      at,
      servers: servers.map(({ name, stats: { latency, calls } }) => [
        name,
        latency?.mean ?? null,
        latency?.p99 ?? null,
        latency?.count ?? 0,
        calls,
      ]),
    };
    this.#samples.push(sample);
    if (this.#samples.length > KEPT) this.#samples.shift();
    return sample;
  }
}
