/**
 * Splits a byte stream into lines. Linear in the bytes whatever the chunks are, never decodes (a chunk may end inside
 * a character), and holds at most one message: an oversize line is skipped up to its newline and told once.
 */

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** How much of an oversize line is kept: enough to find whose answer it was. */
const PREFIX_BYTES = 4 * 1024;
/** From this many pieces on, small ones are copied together: 64 MiB in single bytes would be 64 M objects. */
const PIECES_MAX = 32;
const SMALL_BYTES = 4 * 1024;
const BLOCK_BYTES = 64 * 1024;

export interface LineSink {
  /** One line without its newline and one trailing CR; never empty. A view of a chunk, or a buffer of its own. */
  line(bytes: Buffer): void;
  /**
   * Offered each line that begins in a chunk before anything is cut: the index behind its newline when the sink took it,
   * else 0. Whoever takes a line minds the limit of a message.
   */
  quick?(chunk: Buffer, from: number): number;
  /** A line above the limit: its first 4 KiB and its whole length. */
  oversize(event: { prefix: Buffer; bytes: number }): void;
}

export class LineFramer {
  readonly #max: number;
  readonly #sink: LineSink;
  /** The line that has no newline yet; while skipping, only its prefix. */
  #pieces: Buffer[] = [];
  /** Length of that line so far, kept or not. */
  #pending = 0;
  #lastByte = 0;
  #skipping = false;
  #block: Buffer | undefined;
  #blockUsed = 0;

  /** `maxMessageBytes` counts one line without newline and CR, whichever way the chunks are cut. */
  constructor(options: { maxMessageBytes: number }, sink: LineSink) {
    this.#max = options.maxMessageBytes;
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      if (this.#pending === 0 && this.#sink.quick !== undefined && from < chunk.length) {
        const next = this.#sink.quick(chunk, from);
        if (next > 0) {
          from = next;
          continue;
        }
      }
      const newline = chunk.indexOf(NEWLINE, from);
      if (newline === -1) break;
      if (this.#pending === 0) {
        this.#deliver(chunk, from, newline);
      } else {
        this.#hold(chunk, from, newline);
        this.#flush();
      }
      from = newline + 1;
    }
    this.#hold(chunk, from, chunk.length);
  }

  /** End of the stream: what stands without a newline is a line too. */
  end(): void {
    this.#flush();
  }

  /** Bytes of the line that is not complete yet, including those of an oversize line that were dropped. */
  get pendingBytes(): number {
    return this.#pending;
  }

  /** A line that lies inside one chunk. */
  #deliver(chunk: Buffer, from: number, newline: number): void {
    const end = newline > from && chunk[newline - 1] === CARRIAGE_RETURN ? newline - 1 : newline;
    const length = end - from;
    if (length > this.#max) {
      this.#sink.oversize({ prefix: chunk.subarray(from, from + PREFIX_BYTES), bytes: length });
    } else if (length > 0) {
      this.#sink.line(chunk.subarray(from, end));
    }
  }

  #hold(chunk: Buffer, from: number, to: number): void {
    if (to === from) return;
    this.#pending += to - from;
    this.#lastByte = chunk[to - 1] ?? 0;
    if (this.#skipping) return;
    this.#keep(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to));
    if (this.#length <= this.#max) return;
    // More bytes only make it longer, so the verdict is final here.
    const prefix = this.#join(Math.min(PREFIX_BYTES, this.#pending));
    this.#pieces = [prefix];
    this.#skipping = true;
  }

  #keep(piece: Buffer): void {
    if (piece.length >= SMALL_BYTES || this.#pieces.length < PIECES_MAX) {
      this.#closeBlock();
      this.#pieces.push(piece);
      return;
    }
    if (this.#block === undefined || this.#blockUsed + piece.length > BLOCK_BYTES) {
      this.#closeBlock();
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    this.#blockUsed += piece.copy(this.#block, this.#blockUsed);
  }

  #closeBlock(): void {
    if (this.#block === undefined) return;
    const used = this.#block.subarray(0, this.#blockUsed);
    // A block that is mostly empty would be pinned whole by its few bytes.
    this.#pieces.push(this.#blockUsed < BLOCK_BYTES / 2 ? Buffer.from(used) : used);
    this.#block = undefined;
    this.#blockUsed = 0;
  }

  /** Length of the pending line if it ended here: without the newline and one trailing CR. */
  get #length(): number {
    return this.#lastByte === CARRIAGE_RETURN ? this.#pending - 1 : this.#pending;
  }

  #flush(): void {
    const length = this.#length;
    const [first] = this.#pieces;
    const oversize = this.#skipping;
    const bytes = oversize && first !== undefined ? first : this.#join(length);
    // The state is clean before the sink runs: it may throw or end the stream.
    this.#pieces = [];
    this.#pending = 0;
    this.#lastByte = 0;
    this.#skipping = false;
    if (oversize) this.#sink.oversize({ prefix: bytes, bytes: length });
    else if (length > 0) this.#sink.line(bytes);
  }

  /** The first `length` bytes of the pieces, in a buffer of exactly that size so that it can be transferred. */
  #join(length: number): Buffer {
    this.#closeBlock();
    const line = Buffer.allocUnsafeSlow(length);
    let at = 0;
    for (const piece of this.#pieces) {
      if (at === length) break;
      at += piece.copy(line, at);
    }
    return line;
  }
}
