/** The library's face of distributed batches: one store, and what can be done with the batches in it. */
import { cancelBatch, removeBatch } from './cancel.js';
import type { BatchRecord } from './ledger.js';
import { collect, type ResultsOptions, type ResultsReport } from './results.js';
import type { Settled } from './settle.js';
import { type BatchStatus, statusOf } from './status.js';
import { openStore, type Store, type StoreLocation, type StoreOptions } from './store.js';
import { type SubmitOptions, type SubmitReport, submit } from './submit.js';
import { ClusterWorker, type WorkerOptions } from './worker/worker.js';

export type ClusterOptions = StoreLocation & StoreOptions;

/**
 * Connects to the store of a cluster, and checks that it can hold batches.
 * @example
 * const cluster = await openCluster({ redis: 'redis://localhost' });
 * const { id } = await cluster.submit({ input: 'calls.jsonl' });
 * await cluster.results(id, { output: 'results.jsonl', follow: true });
 * @throws {BulkheadError} `CONNECTION_LOST` it cannot be reached; `BAD_CONFIG` the URL, the password, or a server that is
 * read-only, full, too old, or drops keys.
 */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  return new Cluster(await openStore(options, options));
}

export class Cluster {
  readonly #store: Store;
  /** Of the workers, which wait without limit for a store that went away. */
  #patientStore: Store | undefined;

  /** @internal see {@link openCluster} */
  constructor(store: Store) {
    this.#store = store;
  }

  /** URL of the store, without its password. */
  get place(): string {
    return this.#store.place;
  }

  /** Settings of the store by which a batch could lose something, in words for its operator. */
  get warnings(): readonly string[] {
    return this.#store.warnings;
  }

  /** Puts the calls of an input into the queues of their servers. See {@link SubmitOptions}. */
  submit(options: SubmitOptions): Promise<SubmitReport> {
    return submit(this.#store, options);
  }

  /** Takes chunks of the runtime's servers and runs them, once its `run()` is called. Stop it before this is closed. */
  worker(options: WorkerOptions): ClusterWorker {
    this.#patientStore ??= this.#store.patient();
    return new ClusterWorker(this.#patientStore, options);
  }

  /** Collects results. See {@link ResultsOptions}. */
  results(id: string, options: ResultsOptions): Promise<ResultsReport> {
    return collect(this.#store, id, options);
  }

  /** Oldest first. */
  batches(): Promise<BatchRecord[]> {
    return this.#store.ledger.batches();
  }

  /** @throws {BulkheadError} `BAD_INPUT` there is no such batch. */
  status(id: string): Promise<BatchStatus> {
    return statusOf(this.#store, id);
  }

  /** No further call of the batch starts; lines that were not sent end as `cancelled`. Nothing when it is finished. */
  cancel(id: string): Promise<Settled> {
    return cancelBatch(this.#store, id);
  }

  /** Cancels the batch if it runs, and forgets it with all results that were not collected. */
  remove(id: string): Promise<void> {
    return removeBatch(this.#store, id);
  }

  /** Lets go of the store. Work under way fails. */
  async close(): Promise<void> {
    await Promise.all([this.#store.close(), this.#patientStore?.close()]);
  }
}
