/**
 * Splits a stream of server-sent events into events, on bytes: LF, CR and CRLF in any mixture and however the chunks
 * are cut. Linear in the bytes; data above the limit is not kept, but counted up to the end of its event.
 * Pure. The data stays bytes, so that the exact text of a result survives.
 */

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
/** How much of an oversize event is kept: enough to find whose answer it was. */
const PREFIX_BYTES = 4 * 1024;
/** Longest line that is no data (ids, event names, comments): the rest of it is dropped. */
const FIELD_BYTES = 64 * 1024;
const FIRST_BYTES = 4 * 1024;

export interface SseEvent {
  /** Empty for events that only set an id, or keep the connection alive. A buffer of its own. */
  data: Buffer;
  /** Empty for an ordinary message. */
  name: string;
}

export interface SseSink {
  event(event: SseEvent): void;
  oversize(event: { prefix: Buffer; bytes: number }): void;
}

export class SseParser {
  readonly #max: number;
  readonly #sink: SseSink;
  /** The line that has no end yet. */
  #line = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #kept = 0;
  #lineBytes = 0;
  #afterCr = false;
  #first = true;
  #data: Buffer[] = [];
  #dataBytes = 0;
  #tooLarge = false;
  #name = '';
  #id: string | undefined;

  /** Id of the last complete event that had one: where a resumed stream goes on. */
  lastEventId: string | undefined;
  /** What the server asked for with `retry:`, in milliseconds. */
  retryMs: number | undefined;

  constructor(options: { maxMessageBytes: number }, sink: SseSink) {
    this.#max = options.maxMessageBytes;
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let at = 0;
    if (this.#afterCr && chunk.length > 0) {
      if (chunk[0] === LF) at = 1; // the second half of a CRLF
      this.#afterCr = false;
    }
    let lf = chunk.indexOf(LF, at);
    let cr = chunk.indexOf(CR, at);
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      this.#append(chunk, at, end);
      at = end + 1;
      if (end === cr) {
        if (at === chunk.length) this.#afterCr = true;
        else if (chunk[at] === LF) at++;
        cr = chunk.indexOf(CR, at);
      }
      if (lf !== -1 && lf < at) lf = chunk.indexOf(LF, at);
      this.#endLine();
    }
    this.#append(chunk, at, chunk.length);
  }

  /**
   * End of the stream: the data of an event that lacks only its blank line. The caller decides whether it is whole;
   * undefined when there is none.
   */
  end(): Buffer | undefined {
    if (this.#lineBytes > 0) this.#endLine();
    return this.#dataBytes > 0 && !this.#tooLarge ? Buffer.concat(this.#data) : undefined;
  }

  #append(chunk: Buffer, from: number, to: number): void {
    const length = to - from;
    if (length === 0) return;
    this.#lineBytes += length;
    // 8 bytes more than a message may have: `data: ` and a byte order mark.
    const room = Math.max(0, (this.#tooLarge ? PREFIX_BYTES : this.#max + 9) - this.#kept);
    const keep = Math.min(length, room);
    const needed = this.#kept + keep;
    if (needed > this.#line.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#line.length * 2));
      this.#line.copy(larger, 0, 0, this.#kept);
      this.#line = larger;
    }
    chunk.copy(this.#line, this.#kept, from, from + keep);
    this.#kept = needed;
  }

  #endLine(): void {
    let line = this.#line.subarray(0, this.#kept);
    const dropped = this.#lineBytes - this.#kept;
    this.#kept = 0;
    this.#lineBytes = 0;
    if (this.#first) {
      this.#first = false;
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    }
    if (line.length === 0) this.#dispatch();
    else this.#field(line, dropped);
    if (this.#line.length > 16 * FIELD_BYTES) this.#line = Buffer.allocUnsafeSlow(FIRST_BYTES);
  }

  #field(line: Buffer, dropped: number): void {
    const colon = line.indexOf(COLON);
    if (colon === 0) return; // a comment
    const name = line.toString('latin1', 0, colon === -1 ? line.length : Math.min(colon, 16));
    let start = colon === -1 ? line.length : colon + 1;
    if (line[start] === SPACE) start++;
    if (name === 'data') {
      this.#addData(line.subarray(start), dropped);
      return;
    }
    const value = line.toString('utf8', start, Math.min(line.length, start + FIELD_BYTES));
    if (name === 'event') this.#name = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
  }

  #addData(value: Buffer, dropped: number): void {
    if (this.#data.length > 0) {
      this.#dataBytes += 1;
      if (!this.#tooLarge) this.#data.push(Buffer.from('\n'));
    }
    this.#dataBytes += value.length + dropped;
    if (this.#tooLarge) return;
    // A copy of exactly that size: the line's buffer is used again, and a result may be transferred whole.
    const own = Buffer.allocUnsafeSlow(value.length);
    value.copy(own);
    this.#data.push(own);
    if (this.#dataBytes <= this.#max) return;
    this.#tooLarge = true;
    this.#data = [Buffer.from(Buffer.concat(this.#data).subarray(0, PREFIX_BYTES))];
  }

  #dispatch(): void {
    const [only] = this.#data;
    const data = this.#data.length === 1 && only !== undefined ? only : Buffer.concat(this.#data);
    const event = { data, name: this.#name };
    const bytes = this.#dataBytes;
    const tooLarge = this.#tooLarge;
    if (this.#id !== undefined) this.lastEventId = this.#id;
    // The state is clean before the sink runs: it may throw.
    this.#data = [];
    this.#dataBytes = 0;
    this.#tooLarge = false;
    this.#name = '';
    this.#id = undefined;
    if (tooLarge) this.#sink.oversize({ prefix: event.data, bytes });
    else this.#sink.event(event);
  }
}
