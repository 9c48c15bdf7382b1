/**
 * The one way out of the program: stdout carries data, stderr what people read. A reader that goes away (EPIPE) is a
 * quiet end, not an error, and nothing exits before what was written has left.
 */
import type { Writable } from 'node:stream';
import { BulkheadError } from '@bulkhead/workers/errors';

/** Something is wrong with the stream for good; later writes are dropped. */
type Broken = Error & { code?: string };

/** How long an exit waits for handles that someone left open, after everything has been written. */
const LINGER_MS = 500;

export interface ShownError {
  code: string;
  message: string;
  server?: string;
  tool?: string;
}

export class Output {
  readonly stdout: Writable & { isTTY?: boolean; columns?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
  /** Errors as one line of JSON. */
  json = false;
  /** Stack traces too. */
  verbose = false;
  readonly #closed = new AbortController();
  #stdoutError: Broken | undefined;
  #stderrBroken = false;

  constructor(stdout: Output['stdout'] = process.stdout, stderr: Output['stderr'] = process.stderr) {
    this.stdout = stdout;
    this.stderr = stderr;
    stdout.on('error', (error: Broken) => {
      this.#stdoutError ??= error;
      this.#closed.abort();
    });
    stderr.on('error', () => {
      this.#stderrBroken = true;
    });
  }

  /** Aborted when the reader of stdout is gone. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Writes data; resolves when it has left the process, or the reader is gone. */
  async data(text: string): Promise<void> {
    if (text !== '') await this.#write(this.stdout, text);
  }

  /** The same for bytes, unchanged. */
  async bytes(bytes: Uint8Array): Promise<void> {
    if (bytes.length > 0) await this.#write(this.stdout, bytes);
  }

  /** One line for people; with `json` it stands inside an object, so that every line of stderr can be parsed. */
  note(line: string): void {
    this.report(this.json ? JSON.stringify({ note: line }) : line);
  }

  error(error: unknown): void {
    const shown = shownError(error);
    this.report(this.json ? JSON.stringify({ error: shown }) : `error: ${shown.message} [${shown.code}]`);
    if (this.verbose && error instanceof Error) this.note(error.stack ?? '');
  }

  /** Text for stderr as it is. */
  report(text: string): void {
    if (!this.#stderrBroken) this.stderr.write(`${text}\n`);
  }

  /** Ends the process with `code`, but only after both streams have taken what was written. */
  async exit(code: number): Promise<void> {
    process.exitCode = code;
    await Promise.all([this.#write(this.stdout, ''), this.#stderrBroken || this.#write(this.stderr, '')]);
    const broken = this.#stdoutError;
    if (broken !== undefined && broken.code !== 'EPIPE') this.note(`error: stdout failed: ${broken.message}`);
    // The loop ends by itself unless something still holds it, such as an inherited stdin.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }

  #write(stream: Writable, text: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (stream.destroyed || stream.errored !== null) resolve();
      else stream.write(text, () => resolve());
    });
  }
}

export function shownError(error: unknown): ShownError {
  if (!(error instanceof BulkheadError)) {
    return { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };
  }
  const shown: ShownError = { code: error.code, message: error.message };
  if (error.server !== undefined) shown.server = error.server;
  if (error.tool !== undefined) shown.tool = error.tool;
  return shown;
}

/** Text of a server made harmless for a terminal: one line, without control and direction characters. */
export function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\p{Cc}|\p{Surrogate}|\p{Bidi_Control}/gu, '\ufffd');
}
