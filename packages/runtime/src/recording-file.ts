/** The file of a recording, made before a server starts, so that a mistake in its place is told to who asked for it. */
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { BulkheadError } from '@bulkhead/workers';

/** @returns its absolute path @throws {BulkheadError} `BAD_INPUT` when it cannot be written. */
export function recordFile(file: string): string {
  const path = resolve(file);
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (cause) {
    throw new BulkheadError('BAD_INPUT', `the recording cannot be written: ${(cause as Error).message}`, {
      cause,
    });
  }
  return path;
}
