/** What tests of cluster workers need around them: workers in this process, submitting lines, collecting and waiting. */
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { BatchRuntime } from '@bulkhead/runtime/batch';
import { expect } from 'vitest';
import { type Cluster, openCluster } from '../../packages/cluster/src/cluster.js';
import type { BatchPlan } from '../../packages/cluster/src/ledger.js';
import type { BatchStatus } from '../../packages/cluster/src/status.js';
import type { ClusterWorker, WorkerOptions } from '../../packages/cluster/src/worker/worker.js';

const PATIENCE_MS = 20_000;

/** A result line. */
export interface Line {
  id: number;
  line: number;
  outcome: string;
  attempts: number;
  error?: { code: string; message: string };
}

/** 1 … `count`. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

export class Clusters {
  readonly #path: (name: string) => string;
  readonly #url: () => string;
  readonly #limits: NonNullable<WorkerOptions['limits']>;
  readonly #workers: ClusterWorker[] = [];
  readonly #clusters: Cluster[] = [];
  /** See {@link last}. */
  #last: Cluster | undefined;

  /** @param url of the Redis of the moment. */
  constructor(
    path: (name: string) => string,
    url: () => string,
    limits: NonNullable<WorkerOptions['limits']>,
  ) {
    this.#path = path;
    this.#url = url;
    this.#limits = limits;
  }

  /** The connection over which the last batch was submitted, and is looked at. */
  get last(): Cluster {
    if (this.#last === undefined) throw new Error('nothing was submitted, and none was asked for by renew()');
    return this.#last;
  }

  readonly open = async (): Promise<Cluster> => {
    const one = await openCluster({ redis: this.#url() });
    this.#clusters.push(one);
    return one;
  };

  /** A connection of its own for the next batch. */
  async renew(): Promise<Cluster> {
    this.#last = await this.open();
    return this.#last;
  }

  /** A worker in this process. */
  readonly work = async (
    runtime: BatchRuntime,
    options: Omit<WorkerOptions, 'runtime'> = {},
  ): Promise<ClusterWorker> => {
    const limits = { ...this.#limits, ...options.limits };
    const worker = (await this.open()).worker({ runtime, ...options, limits });
    this.#workers.push(worker);
    void worker.run();
    return worker;
  };

  readonly submit = async (lines: object[], plan: Partial<BatchPlan> = {}): Promise<string> => {
    const cluster = await this.renew();
    const input = Readable.from([Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))]);
    return (await cluster.submit({ input, plan: { chunkLines: 8, ...plan } })).id;
  };

  /** All results, in the order of the input. */
  readonly results = async (id: string): Promise<Line[]> => {
    const output = this.#path(`results-${id}.jsonl`);
    const { complete } = await this.last.results(id, { output, follow: true });
    expect(complete).toBe(true);
    const lines = readFileSync(output, 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as Line).sort((a, b) => a.line - b.line);
  };

  /** Polls the batch until it stands as wanted. */
  readonly until = async (
    id: string,
    what: string,
    wanted: (status: BatchStatus) => boolean,
  ): Promise<BatchStatus> => {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const status = await this.last.status(id);
      if (wanted(status)) return status;
      if (performance.now() > end) throw new Error(`waited in vain for ${what}: ${JSON.stringify(status)}`);
      await wait(20);
    }
  };

  /** Stops all workers, then closes everything. */
  async leave(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map((worker) => worker.stop({ graceMs: 0 })));
    await Promise.all(this.#clusters.splice(0).map((one) => one.close()));
  }
}
