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
export type { CallAuditOptions, CallAuditRecord } from './audit/call-audit.js';
export { openBrowser } from './auth/open-browser.js';
export {
  type BatchJournal,
  type CallJournal,
  type Fate,
  GivenBack,
  type JournalOptions,
  openJournal,
} from './batch/journal.js';
export type { InputLine } from './batch/lines.js';
export { formatOf, type MapFormat, type MapOptions, mapInput } from './batch/mapped-input.js';
export {
  type BatchOptions,
  type BatchProgress,
  type BatchRuntime,
  type BatchServer,
  type BatchSummary,
  batchDefaults,
  type ServerSummary,
} from './batch/options.js';
export { parseRate, type RateSetting } from './batch/rate.js';
export type { RetryOptions } from './batch/retry.js';
export { runBatch } from './batch/run.js';
export { rawArguments } from './call.js';
export { checkEntry, type EntryCheck, loadAsWritten } from './config/check-entry.js';
export { parseDuration } from './config/duration.js';
export { type ConfigChange, type EditOptions, type EditReport, editConfigFile } from './config/edit.js';
export type { EntryValue } from './config/entry-edit.js';
export { type ImportHost, importHosts } from './config/import/host.js';
export {
  type ImportCandidate,
  type ImportOptions,
  type ImportReading,
  readOtherHost,
} from './config/import/read.js';
export { loadConfig, resolveServers } from './config/load.js';
export {
  type ConfigPlace,
  configPlace,
  filePlace,
  type WritableScope,
  writableScopes,
} from './config/locate.js';
export { printable } from './config/printable.js';
export {
  type ConfigProblem,
  formatProblem,
  type LoadConfigOptions,
  type LoadedConfig,
  type LoadedServer,
  type Scope,
  type WrittenLaunch,
} from './config/types.js';
export { createRuntime } from './create-runtime.js';
export type { Logger, LogOptions } from './logging/logger.js';
export type { Runtime } from './runtime.js';
export type { RuntimeHandle } from './runtime-handle.js';
export { installSignalHandlers } from './signals.js';
export type { TelemetryOptions, TelemetrySetting } from './telemetry/options.js';
export { findTools } from './tool-lookup.js';
