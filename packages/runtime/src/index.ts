/** `@bulkhead/runtime`: an MCP host runtime in which every server session lives in its own worker thread. */

export {
  BulkheadError,
  type ErrorCode,
  runtimeDefaults,
  serverDefaults,
  supervisorDefaults,
} from '@bulkhead/workers';
export * from './api.js';
export { holdUnapproved } from './approval-desk.js';
export {
  type ApprovalAnswer,
  type ApprovalRequest,
  ApprovalStore,
  needsApproval,
  type OnApproval,
} from './approvals.js';
export { type AttachedRuntime, type AttachOptions, attachRuntime } from './attach.js';
export {
  type BatchOptions,
  type BatchProgress,
  type BatchSummary,
  batchDefaults,
  type ServerSummary,
} from './batch/options.js';
export { runBatch } from './batch/run.js';
export { rawArguments } from './call.js';
export { parseDuration } from './config/duration.js';
export { loadConfig, resolveServers } from './config/load.js';
export {
  type ConfigProblem,
  formatProblem,
  type LoadConfigOptions,
  type LoadedConfig,
  type LoadedServer,
} from './config/types.js';
export { createRuntime, type Runtime } from './runtime.js';
export type { RuntimeHandle } from './runtime-handle.js';
export { installSignalHandlers } from './signals.js';
