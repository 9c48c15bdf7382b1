/**
 * A file that only grows by lines and turns at a size: 0600, in a directory of its owner, older ones beside it. A disk
 * that fails costs lines, counted and said once, and never whatever the lines are about.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { createStream, type RotatingFileStream } from 'rotating-file-stream';

export interface LineFileOptions {
  /** Its directory is made (0700) when missing. One process writes to it: two would turn it twice. */
  file: string;
  /** Size at which the file becomes `<file>.1`, that one `<file>.2` and so on. At least 1 KiB. */
  maxBytes: number;
  /** Older files beside it; the oldest makes way. At least 1. */
  keep: number;
  /** Told once that nothing can be written, and at the end how much was lost. */
  warn: (message: string) => void;
}

/** Bytes that may wait for a slow disk. */
const BACKLOG_MAX_BYTES = 4 * 1024 * 1024;
/** After an error of the disk, when to try again. */
const RETRY_MS = 5_000;

export class LineFile {
  readonly #options: LineFileOptions;
  readonly #file: string;
  #stream: RotatingFileStream | undefined;
  #retryAt = 0;
  #warned = false;
  #lost = 0;
  #closed = false;

  /** Nothing is opened before the first line. */
  constructor(options: LineFileOptions) {
    this.#options = options;
    this.#file = resolve(options.file);
  }

  /** @param line with its newline. */
  write(line: string): void {
    if (this.#closed) return;
    const stream = this.#open();
    if (stream === undefined || stream.writableLength > BACKLOG_MAX_BYTES) {
      this.#lose('the disk is slower than what is written');
      return;
    }
    stream.write(line, (error) => {
      if (error !== null && error !== undefined) this.#lose(error.message);
    });
  }

  /** Resolves when everything that could be written is in the file. */
  async close(): Promise<void> {
    this.#closed = true;
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream !== undefined) {
      await new Promise<void>((resolve) => {
        stream.once('close', () => resolve());
        stream.end(() => stream.destroy());
      });
    }
    if (this.#lost > 0) this.#options.warn(`${this.#lost} lines were lost for ${this.#file}`);
    this.#lost = 0;
  }

  #open(): RotatingFileStream | undefined {
    if (this.#stream !== undefined || performance.now() < this.#retryAt) return this.#stream;
    const directory = dirname(this.#file);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      this.#retryAt = performance.now() + RETRY_MS;
      this.#say(messageOf(error));
      return undefined;
    }
    const stream = createStream(basename(this.#file), {
      path: directory,
      size: `${Math.max(1_024, this.#options.maxBytes)}B`,
      rotate: Math.max(1, this.#options.keep),
      mode: 0o600,
    });
    stream.on('open', () => this.#restrict());
    stream.on('error', (error) => {
      // The stream is over after an error; a disk that was full may have room again.
      if (this.#stream === stream) this.#stream = undefined;
      this.#retryAt = performance.now() + RETRY_MS;
      this.#say(error.message);
    });
    stream.on('warning', (error) => this.#say(error.message));
    this.#stream = stream;
    return stream;
  }

  /** A file that was there before may be open to others. */
  #restrict(): void {
    try {
      chmodSync(this.#file, 0o600);
    } catch (error) {
      this.#say(messageOf(error));
    }
  }

  #lose(why: string): void {
    this.#lost++;
    this.#say(why);
  }

  #say(why: string): void {
    if (this.#warned) return;
    this.#warned = true;
    const next = 'calls go on without their lines; free or mend the disk';
    this.#options.warn(`${this.#file} cannot be written (${why}): ${next}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
