/**
 * Finished lines to the output stream: as they come, or in input order. Many lines leave in one write; while the
 * stream is full nothing more is handed to it, and `blocked` tells the engine to stop starting calls.
 */
import type { Writable } from 'node:stream';
import { type SpilledLine, writeSpilled } from './spilled-line.js';

/** Lines are joined up to about this size for one write. */
const WRITE_CHARS = 64 * 1024;
/** A line waits at most this long for others to join it. */
const LINGER_MS = 5;

export class LineWriter {
  readonly #output: Writable;
  readonly #ordered: boolean;
  readonly #bufferChars: number;
  readonly #onRoom: () => void;
  readonly #onFailure: (error: Error) => void;
  readonly #early = new Map<number, string | SpilledLine>();
  readonly #failed = new AbortController();
  #ready: (string | SpilledLine)[] = [];
  /** A line is being copied from its file; the others wait. */
  #copying = false;
  #head = 0;
  #nextSeq = 0;
  #earlyChars = 0;
  #readyChars = 0;
  #blocked = false;
  #scheduled = false;
  #failure: Error | undefined;
  #written = 0;
  #inWrite = 0;
  #idle: (() => void) | undefined;

  constructor(
    output: Writable,
    options: {
      ordered: boolean;
      /** Finished lines that may wait while the stream is full. */
      bufferBytes: number;
      onRoom: () => void;
      onFailure: (error: Error) => void;
    },
  ) {
    this.#output = output;
    this.#ordered = options.ordered;
    this.#bufferChars = options.bufferBytes;
    this.#onRoom = options.onRoom;
    this.#onFailure = options.onFailure;
    output.on('error', this.#fail);
    output.on('close', this.#closed);
  }

  /** More waits for the stream than may; no call should start until `onRoom`. */
  get blocked(): boolean {
    return this.#readyChars > this.#bufferChars;
  }

  /** Characters of finished lines that wait for an earlier line. */
  get earlyChars(): number {
    return this.#earlyChars;
  }

  /** Number of the line whose turn it is (only with `ordered`). */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** Lines handed to the stream. */
  get written(): number {
    return this.#written;
  }

  /** `seq` counts from 0 without gaps; `text` has no line end. */
  put(seq: number, text: string | SpilledLine): void {
    if (this.#failure !== undefined) return;
    if (!this.#ordered) {
      this.#push(text);
    } else if (seq !== this.#nextSeq) {
      this.#early.set(seq, text);
      this.#earlyChars += charsOf(text);
      return;
    } else {
      this.#push(text);
      this.#nextSeq++;
      this.#release();
    }
    if (this.#readyChars > WRITE_CHARS) this.#flush();
    else this.#soon();
  }

  /** Takes out the lines that wait for an earlier one, in order. */
  takeEarly(): (string | SpilledLine)[] {
    const early = [...this.#early].sort(([a], [b]) => a - b).map(([, text]) => text);
    this.#early.clear();
    this.#earlyChars = 0;
    return early;
  }

  /** After an interrupt lines are missing: what is there goes out, still in order. */
  releaseAll(): void {
    for (const text of this.takeEarly()) this.#push(text);
    this.#soon();
  }

  /** Resolves when the stream has taken everything, or has failed. */
  async flushed(): Promise<void> {
    this.#flush();
    if (!this.#isIdle()) await new Promise<void>((resolve) => (this.#idle = resolve));
    this.#output.off('close', this.#closed);
    this.#output.off('drain', this.#drained);
  }

  #release(): void {
    for (;;) {
      const text = this.#early.get(this.#nextSeq);
      if (text === undefined) return;
      this.#early.delete(this.#nextSeq);
      this.#earlyChars -= charsOf(text);
      this.#push(text);
      this.#nextSeq++;
    }
  }

  #push(text: string | SpilledLine): void {
    this.#ready.push(text);
    this.#readyChars += charsOf(text) + 1;
  }

  #soon(): void {
    if (this.#scheduled || this.#blocked) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      this.#flush();
    }, LINGER_MS);
  }

  #flush(): void {
    const wasFull = this.blocked;
    while (
      this.#head < this.#ready.length &&
      !this.#blocked &&
      !this.#copying &&
      this.#failure === undefined
    ) {
      const first = this.#ready[this.#head];
      if (typeof first === 'object') {
        this.#head++;
        this.#copy(first);
        break;
      }
      let piece = '';
      while (this.#head < this.#ready.length && piece.length < WRITE_CHARS) {
        const text = this.#ready[this.#head];
        if (typeof text === 'object') break;
        piece += `${text}\n`;
        this.#head++;
        this.#written++;
      }
      this.#readyChars -= piece.length;
      this.#inWrite++;
      // The callback's error also comes as an event.
      const room = this.#output.write(piece, () => {
        this.#inWrite--;
        this.#settle();
      });
      if (!room) {
        this.#blocked = true;
        this.#output.once('drain', this.#drained);
      }
    }
    if (this.#head === this.#ready.length) {
      this.#ready = [];
      this.#head = 0;
    }
    this.#settle();
    if (wasFull && !this.blocked) this.#onRoom();
  }

  #copy(line: SpilledLine): void {
    this.#copying = true;
    this.#inWrite++;
    this.#written++;
    this.#readyChars -= charsOf(line) + 1;
    writeSpilled(line, this.#output, this.#failed.signal).then(
      () => {
        this.#copying = false;
        this.#inWrite--;
        this.#flush();
      },
      (error: Error) => this.#fail(error),
    );
  }

  readonly #drained = (): void => {
    this.#blocked = false;
    this.#flush();
  };

  readonly #closed = (): void => {
    this.#fail(Object.assign(new Error('the output was closed'), { code: 'EPIPE' }));
  };

  readonly #fail = (error: Error): void => {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#failed.abort();
    this.#ready = [];
    this.#early.clear();
    this.#settle();
    this.#onFailure(error);
  };

  #isIdle(): boolean {
    return this.#failure !== undefined || (this.#head >= this.#ready.length && this.#inWrite === 0);
  }

  #settle(): void {
    if (this.#idle === undefined || !this.#isIdle()) return;
    this.#idle();
    this.#idle = undefined;
  }
}

/** In memory; what lies in a file weighs nothing. */
function charsOf(line: string | SpilledLine): number {
  return typeof line === 'string' ? line.length : line.before.length + line.after.length;
}
