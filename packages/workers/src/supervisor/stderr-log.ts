/**
 * One server's stderr: its own log file (rotated by size, one older file kept) and the tail that goes into errors, both
 * without the server's secrets. Always read, never on the terminal. Bounded in memory (lines without newline too) and on disk; a flood is written
 * at a limited rate and what is left out is counted in the log itself.
 */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createStream, type RotatingFileStream } from 'rotating-file-stream';
import { readableLine } from '../server/noise.js';
import { Rate } from '../server/rate.js';
import { Mask } from './mask.js';

const TAIL_LINES = 20;
const LINE_MAX = 2_000;
/** Bytes per second a flooding server may write to its log, and the burst on top. */
const RATE_BYTES = 1024 * 1024;
const BURST_BYTES = 4 * 1024 * 1024;

export class StderrLog {
  readonly file: string;
  readonly #stream: RotatingFileStream;
  readonly #tail: string[] = [];
  #partial = '';
  readonly #rate = new Rate(RATE_BYTES, BURST_BYTES);
  readonly #secrets: () => readonly string[];
  #dropped = 0;

  /** @param secrets values that are not written down; asked for with each process */
  constructor(directory: string, fileName: string, maxBytes: number, secrets: () => readonly string[]) {
    this.#secrets = secrets;
    this.file = `${directory}/${fileName}`;
    this.#stream = createStream(fileName, {
      path: directory,
      size: `${Math.max(1, Math.round(maxBytes / 1024))}K`,
      rotate: 1,
      // What a server says may hold secrets, and its directory may have been there, open to all.
      mode: 0o600,
    });
    // A full disk or a removed directory costs the log, never the server.
    this.#stream.on('error', () => {});
    this.#stream.on('warning', () => {});
  }

  /** Follows one process's stderr to its end. */
  follow(source: Readable): void {
    const decoder = new StringDecoder('utf8');
    const mask = new Mask(this.#secrets());
    const take = (chunk: Buffer): void => {
      this.#write(chunk);
      this.#lines(decoder.write(chunk));
    };
    source.on('data', (chunk: Buffer) => take(mask.push(chunk)));
    // Not only at its end: the stream is cut when a grandchild holds it open.
    source.once('close', () => take(mask.end()));
    source.on('error', () => {});
  }

  /** A line of ours, such as the start of a generation. */
  note(text: string, at: Date): void {
    this.#stream.write(`[bulkhead ${at.toISOString()}] ${text}\n`);
  }

  /** Last lines, oldest first. */
  tail(): string[] {
    const last = readableLine(Buffer.from(this.#partial));
    return last === '' ? [...this.#tail] : [...this.#tail, last].slice(-TAIL_LINES);
  }

  clearTail(): void {
    this.#tail.length = 0;
    this.#partial = '';
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#stream.once('close', () => resolve());
      this.#stream.end(() => this.#stream.destroy());
    });
  }

  #write(chunk: Buffer): void {
    const room = this.#stream.writableLength <= BURST_BYTES;
    if (!room || !this.#rate.take(performance.now(), chunk.byteLength)) {
      this.#dropped += chunk.byteLength;
      return;
    }
    if (this.#dropped > 0) {
      this.note(`${this.#dropped} bytes of stderr left out (more than ${RATE_BYTES} bytes/s)`, new Date());
      this.#dropped = 0;
    }
    this.#stream.write(chunk);
  }

  #lines(text: string): void {
    // A carriage return alone ends a line as well: progress bars redraw with it.
    const parts = (this.#partial + text).split(/\r\n|\n|\r/);
    this.#partial = (parts.pop() ?? '').slice(-LINE_MAX);
    for (const part of parts.slice(-TAIL_LINES)) {
      const line = readableLine(Buffer.from(part));
      if (line !== '') this.#tail.push(line);
    }
    if (this.#tail.length > TAIL_LINES) this.#tail.splice(0, this.#tail.length - TAIL_LINES);
  }
}
