/**
 * Whether the threads' files are where the code looks for them. A bundler that takes the packages into one file leaves
 * the threads behind, and a thread without a file only says that it ended.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BulkheadError, entries } from '@bulkhead/workers';

/** @throws {BulkheadError} `UNSUPPORTED` when they are not there, with the two ways to bundle a program. */
export function requireThreadFiles(): void {
  const file = fileURLToPath(entries.supervisor);
  if (existsSync(file)) return;
  throw new BulkheadError(
    'UNSUPPORTED',
    `the thread file ${file} is not there. If this program was bundled: leave the packages @bulkhead/* external, ` +
      'or copy node_modules/@bulkhead/workers/dist/threads beside the bundle as "threads"',
    { data: { file } },
  );
}
