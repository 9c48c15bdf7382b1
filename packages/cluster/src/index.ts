/** `@bulkhead/cluster`: batches of tool calls over any number of machines, on Redis, Valkey or PostgreSQL. */

export { Cluster, type ClusterOptions, openCluster } from './cluster.js';
export { type ClusterLimits, clusterDefaults } from './defaults.js';
export type {
  BatchPlan,
  BatchRecord,
  BatchState,
  QueueRecord,
  WorkerRecord,
} from './ledger.js';
export type { ResultsOptions, ResultsProgress, ResultsReport } from './results.js';
export type { Settled } from './settle.js';
export type { BatchStatus, QueueStatus } from './status.js';
export type { StoreLocation, StoreOptions } from './store.js';
export type { SubmitOptions, SubmitReport } from './submit.js';
export {
  ClusterWorker,
  type WorkerOptions,
  type WorkerStats,
} from './worker/worker.js';
