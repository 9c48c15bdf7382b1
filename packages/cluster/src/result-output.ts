/** Where collected results go: a file, which tells what it has already and can be made sure of, or a stream. */
import { once } from 'node:events';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { LineSet, readEarlierResults } from '@bulkhead/runtime/batch';
import { BulkheadError } from '@bulkhead/workers';

export interface ResultSink {
  /** Lines that it has. */
  readonly lines: LineSet;
  /** Where the results are then; undefined when nobody could find them there. */
  readonly place: string | undefined;
  /** Reads what it has, once it is certain that nobody else writes. */
  begin(): Promise<void>;
  write(bytes: string | Buffer): Promise<void>;
  /** What was written survives a crash of the machine. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** @throws {BulkheadError} `BAD_INPUT` it is no file, or cannot be written. */
export function fileSink(path: string): Promise<ResultSink> {
  return FileSink.open(path);
}

class FileSink implements ResultSink {
  lines = new LineSet();
  readonly place: string;
  readonly #file: FileHandle;

  private constructor(file: FileHandle, place: string) {
    this.#file = file;
    this.place = place;
  }

  static async open(path: string): Promise<FileSink> {
    const file = await open(path, 'a').catch((error: Error) => {
      throw new BulkheadError('BAD_INPUT', `the output "${path}" cannot be written: ${error.message}`, {
        cause: error,
      });
    });
    try {
      if (!(await file.stat()).isFile()) {
        throw new BulkheadError('BAD_INPUT', `the output "${path}" is no file; to see results, leave it out`);
      }
      return new FileSink(file, await realpath(path));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** @throws {BulkheadError} `BAD_INPUT` it holds something else. */
  async begin(): Promise<void> {
    this.lines = (await readEarlierResults(this.place)).lines;
    // A new file is safe only once its directory knows it. Not every system can do this.
    const directory = await open(dirname(this.place)).catch(() => undefined);
    await directory?.sync().catch(() => {});
    await directory?.close();
  }

  async write(bytes: string | Buffer): Promise<void> {
    if (bytes.length > 0) await this.#file.appendFile(bytes);
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** The stream stays open. */
export function streamSink(stream: Writable): ResultSink {
  let failure: Error | undefined;
  const onError = (error: Error): void => {
    failure = error;
  };
  stream.on('error', onError);
  return {
    lines: new LineSet(),
    place: undefined,
    async begin() {},
    async write(bytes) {
      if (failure !== undefined) throw failure;
      if (bytes.length > 0 && !stream.write(bytes)) await once(stream, 'drain');
    },
    async sync() {},
    async close() {
      stream.off('error', onError);
    },
  };
}
