/** What the runtime needs of the threads: the contract of messages, errors, the board, and where the entries lie. */
export * from './board.js';
export * from './clock.js';
export { blockText, type ContentBlock, contentBlocks, isRecord, wellFormed } from './content.js';
export * from './control.js';
export * from './defaults.js';
export * from './errors.js';
export { IdTable } from './id-table.js';
export * from './json-span.js';
export * from './outcomes.js';
export type { ShapeAnswer, ShapeSource, ShapeTask } from './pool/tasks.js';
export * from './protocol.js';
export { type ResultReading, readResult, resultText } from './result-text.js';
export type { AuthSettings } from './server/auth/settings.js';
export { forgetSignIn } from './server/auth/sign-out.js';
export { groupAlive, signalGroup } from './supervisor/process-group.js';
export { startOf } from './supervisor/process-start.js';
export { mayBecomeReady, resting, stateMeaning } from './supervisor/transitions.js';

/** One bundled file per thread entry; see `build.mjs`. */
export const entries = {
  supervisor: new URL('./threads/supervisor.js', import.meta.url),
  server: new URL('./threads/server.js', import.meta.url),
  pool: new URL('./threads/pool.js', import.meta.url),
} as const;
