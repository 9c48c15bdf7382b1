/** The journal as a file: its first line, which binds it to an input and a process, and the lines behind it. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, realpath, rename } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BulkheadError, startOf } from '@bulkhead/workers';
import { type ResultHead, resultHead } from './earlier-results.js';
import type { JournalOptions } from './journal.js';
import { LineSet } from './line-set.js';
import { LineSplitter } from './lines.js';
import { batchDefaults } from './options.js';

export interface JournalHeader {
  batchJournal: 1;
  input: string;
  /** Of the input's path, size and beginning, and of the options that decide what a line means. */
  hash: string;
  /** The process that writes, and when it started: a pid alone may be another's by now. */
  pid: number;
  start: string | undefined;
}

export interface EarlierStarts {
  header: JournalHeader;
  started: LineSet;
  /** Lines that have their result already, by line number. */
  kept: Map<number, { text: string; head: ResultHead }>;
}

/** What tells an input from another one of the same size. */
const HEAD_BYTES = 64 * 1024;
const OPEN_BRACE = 0x7b;
const PIECE_CHARS = 64 * 1024;

export async function headerOf({ input, ordered, variant }: JournalOptions): Promise<JournalHeader> {
  const path = await realpath(input);
  const file = await open(path);
  try {
    const info = await file.stat();
    if (!info.isFile()) {
      throw new BulkheadError(
        'BAD_INPUT',
        `the input "${input}" is no file, and only a file can be read again`,
      );
    }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const hash = createHash('sha256')
      .update(JSON.stringify([path, info.size, ordered === true, variant ?? '']))
      .update(buffer.subarray(0, bytesRead))
      .digest('hex');
    return { batchJournal: 1, input: path, hash, pid: process.pid, start: startOf(process.pid) };
  } finally {
    await file.close();
  }
}

/** @throws {BulkheadError} `BAD_INPUT` when the journal is another run's. */
export function requireSame(path: string, found: JournalHeader, own: JournalHeader): void {
  if (found.pid !== own.pid && found.start !== undefined && startOf(found.pid) === found.start) {
    throw new BulkheadError('BAD_INPUT', `process ${found.pid} is still running the batch of "${path}"`);
  }
  if (found.hash === own.hash) return;
  const what =
    found.input === own.input
      ? 'its input has changed since, or --ordered, --map or --tool differ'
      : `it is of the input "${found.input}"`;
  throw new BulkheadError(
    'BAD_INPUT',
    `"${path}" belongs to another run: ${what}. Resume with the command line of that run, or write to another file`,
  );
}

/**
 * Undefined when there is no journal. A last line that was torn is left out: its call was not sent.
 * @throws {BulkheadError} `BAD_INPUT` when the file is no journal.
 */
export async function readJournal(path: string): Promise<EarlierStarts | undefined> {
  const splitter = new LineSplitter(batchDefaults.maxLineBytes);
  const started = new LineSet();
  const kept: EarlierStarts['kept'] = new Map();
  let header: JournalHeader | undefined;
  try {
    for await (const chunk of createReadStream(path)) {
      for (const { line, text } of splitter.push(chunk as Buffer)) {
        if (text === undefined) continue; // a kept line that is too long: its fate counts as unknown
        if (line === 1) header = parseHeader(text);
        else if (text.charCodeAt(0) !== OPEN_BRACE) started.add(Number(text));
        else {
          const head = resultHead(Buffer.from(text));
          if (head !== undefined) kept.set(head.line, { text, head });
        }
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (header === undefined) {
    throw new BulkheadError('BAD_INPUT', `"${path}" is no journal of a batch; move it away`);
  }
  return { header, started, kept };
}

/**
 * Replaces the journal at once, bound to the process that writes it now. Lines that have their result stay in it: should
 * that be lost, they are still known to have run.
 */
export async function writeJournal(
  path: string,
  header: JournalHeader,
  { started, kept }: Pick<EarlierStarts, 'started' | 'kept'>,
  done: LineSet,
): Promise<void> {
  await pipeline(Readable.from(content(header, started, kept, done)), createWriteStream(`${path}.new`));
  await rename(`${path}.new`, path);
}

function* content(
  header: JournalHeader,
  started: LineSet,
  kept: EarlierStarts['kept'],
  done: LineSet,
): Generator<string> {
  let piece = `${JSON.stringify(header)}\n`;
  for (const line of started) {
    piece += `${line}\n`;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
  for (const [line, { text }] of kept) if (!done.has(line)) yield `${text}\n`;
}

function parseHeader(text: string): JournalHeader | undefined {
  try {
    const value = JSON.parse(text) as JournalHeader;
    return value.batchJournal === 1 && typeof value.hash === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
