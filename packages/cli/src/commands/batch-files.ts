/** Input and results of a batch as streams: opened before anything runs, so that a wrong path costs no call. */
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type BatchJournal, openJournal } from '@bulkhead/runtime';
import { usageError } from '../context.js';

export interface Sink {
  stream: Writable;
  journal: BatchJournal | undefined;
  /** @param isComplete every line of the input has its result. */
  close(isComplete: boolean): Promise<void>;
}

/** Stdin is read only for an explicit `-`. */
export async function openInput(path: string): Promise<{ stream: Readable; totalBytes: number | undefined }> {
  if (path === '-') return { stream: process.stdin, totalBytes: undefined };
  const info = await stat(path).catch((error: Error) => {
    throw usageError(`the input cannot be read: ${error.message}`);
  });
  if (info.isDirectory()) throw usageError(`the input "${path}" is a directory, not a JSON Lines file`);
  const stream = createReadStream(path);
  await opened(stream, 'the input cannot be read');
  return { stream, totalBytes: info.isFile() ? info.size : undefined };
}

export interface SinkOptions {
  out: string | undefined;
  inputPath: string;
  stdout: Writable;
  /** Append to the results of the same command line; `variant` is what the journal is bound to beside the input. */
  resume: { ordered: boolean; variant: string } | undefined;
}

export async function openSink({ out, inputPath, stdout, resume }: SinkOptions): Promise<Sink> {
  if (out === undefined || out === '-') {
    if (resume !== undefined) throw usageError('--resume needs --out <file>: results on stdout are gone');
    return { stream: stdout, journal: undefined, close: async () => {} };
  }
  if (inputPath === '-' && resume !== undefined) {
    throw usageError('--resume needs an input file: stdin cannot be read a second time');
  }
  if (inputPath !== '-' && (await isSameFile(inputPath, out))) {
    throw usageError(`--out "${out}" is the input file; writing would destroy it`);
  }
  // Replacing the results would lose them, and the journal would speak of calls that are not its own.
  if (resume === undefined && (await stat(`${out}.journal`).catch(() => undefined)) !== undefined) {
    throw usageError(
      `--out "${out}" holds an unfinished run: go on with --resume, or remove it and "${out}.journal"`,
    );
  }
  const journal =
    resume === undefined ? undefined : await openJournal({ input: inputPath, output: out, ...resume });
  const stream = createWriteStream(out, { flags: resume === undefined ? 'w' : 'a' });
  await opened(stream, `--out "${out}" cannot be written`);
  return {
    stream,
    journal,
    async close(isComplete) {
      const isWritten = !stream.destroyed && (await ended(stream));
      await journal?.close(isComplete && isWritten);
    },
  };
}

/** False when the last of it could not be written. */
function ended(stream: Writable): Promise<boolean> {
  stream.end();
  return finished(stream).then(
    () => true,
    () => false,
  );
}

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((file) => stat(file).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function opened(stream: Readable | Writable, failure: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(usageError(`${failure}: ${error.message}`));
    stream.once('error', failed);
    stream.once('open', () => {
      stream.off('error', failed);
      resolve();
    });
  });
}
