/**
 * Content blocks as hosts can rely on them. The code lies with the threads, because the pool reads results too; here are
 * its names for the agent's side.
 */
export { blockText, contentBlocks, isRecord, wellFormed } from '@bulkhead/workers';
