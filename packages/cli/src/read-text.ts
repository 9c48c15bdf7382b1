/** Text files and stdin that the command line names: UTF-8, or UTF-16 with a byte order mark as PowerShell writes it. */
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { usageError } from './context.js';

/** @throws {BulkheadError} `BAD_INPUT` naming the file. Stdin (`-`) is read to its end. */
export async function readText(path: string, stdin: Readable = process.stdin): Promise<string> {
  const what = path === '-' ? 'stdin' : `file "${path}"`;
  let bytes: Buffer;
  try {
    bytes = path === '-' ? await readAll(stdin) : await readFile(path);
  } catch (error) {
    throw usageError(`${what} cannot be read: ${(error as Error).message}`);
  }
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageError(`${what} is not UTF-8 text`);
  }
}

async function readAll(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
