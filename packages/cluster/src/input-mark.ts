/** What tells an input file from another one, so that a batch is continued with its own. */
import { createHash } from 'node:crypto';
import { open, realpath } from 'node:fs/promises';
import { BulkheadError } from '@bulkhead/workers';
import type { BatchRecord } from './ledger.js';

type InputMark = NonNullable<BatchRecord['input']>;

const HEAD_BYTES = 64 * 1024;

/** @throws {BulkheadError} `BAD_INPUT` when it cannot be read, or is no file. */
export async function markOf(input: string): Promise<InputMark> {
  try {
    const path = await realpath(input);
    const file = await open(path);
    try {
      const info = await file.stat();
      if (!info.isFile()) throw new Error('it is no file');
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      const hash = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
      return { path, bytes: info.size, hash };
    } finally {
      await file.close();
    }
  } catch (error) {
    const cause = error as NodeJS.ErrnoException;
    const why = cause.code === 'ENOENT' ? 'there is no such file' : cause.message;
    throw new BulkheadError('BAD_INPUT', `the input "${input}" cannot be read: ${why}`, { cause });
  }
}

/** The file may have been moved. @throws {BulkheadError} `BAD_INPUT`. */
export function requireSameInput(batch: BatchRecord, given: InputMark | undefined): void {
  const { id, input } = batch;
  const only = 'Only the same file can be submitted to it again; leave the batch out to make another one';
  if (input === undefined) {
    throw new BulkheadError('BAD_INPUT', `batch "${id}" was submitted from a stream. ${only}`);
  }
  if (given === undefined) {
    throw new BulkheadError('BAD_INPUT', `batch "${id}" was submitted from "${input.path}". ${only}`);
  }
  if (input.bytes === given.bytes && input.hash === given.hash) return;
  const difference =
    input.bytes === given.bytes
      ? 'begins differently'
      : `has ${given.bytes} bytes, and that one had ${input.bytes}`;
  throw new BulkheadError(
    'BAD_INPUT',
    `batch "${id}" was submitted from "${input.path}", but "${given.path}" ${difference}. ${only}`,
  );
}
