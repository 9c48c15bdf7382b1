/** `@bulkhead/runtime/batch`: the parts of a batch that also serve one that is spread over many machines. */

export { type EarlierResults, type ResultHead, readEarlierResults, resultHead } from './earlier-results.js';
export { type CallJournal, type Fate, GivenBack } from './journal.js';
export { LineSet } from './line-set.js';
export { type InputLine, LineSplitter } from './lines.js';
export { type BatchOptions, type BatchRuntime, type BatchSummary, batchDefaults } from './options.js';
export { type BadLine, type BatchCall, bad, parseRecord } from './record.js';
export { errorLine, type LineHead } from './reply.js';
export { runBatch } from './run.js';
