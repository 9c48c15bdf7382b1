/**
 * Bytes to lines: splits on byte 0x0A and decodes afterwards, so that a character cut by a chunk border is whole
 * again. Memory is bounded by one line of at most `maxBytes`; the rest of a longer one is counted, not kept.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { BulkheadError } from '@bulkhead/workers';

/** A line of the input. */
export interface InputLine {
  /** 1-based, blank lines counted. */
  line: number;
  /** Without the line end; undefined when the line cannot be used (see `problem`). */
  text: string | undefined;
  problem?: string;
  /** Bytes of the line with its end. */
  bytes: number;
}

const NEWLINE = 0x0a;
const OPEN_BRACE = 0x7b;
const REPLACEMENT = '\ufffd';

/** Splits bytes into lines, in pieces of any size. */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #held = 0;
  #skipped = 0;
  #line = 0;
  #head: Buffer | undefined = Buffer.alloc(0);

  /** @param maxBytes of one line; a longer one comes with a `problem` in place of its text */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The lines that `chunk` completes, blank ones left out.
   * @throws {BulkheadError} `BAD_INPUT` when the input starts like UTF-16.
   */
  push(chunk: Uint8Array): InputLine[] {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#head !== undefined) {
      bytes = Buffer.concat([this.#head, bytes]);
      if (bytes.length < 3) {
        this.#head = bytes;
        return [];
      }
      bytes = this.#open(bytes);
    }
    return this.#split(bytes);
  }

  /** The last line, when the input does not end with a newline. */
  end(): InputLine[] {
    const lines = this.#head === undefined ? [] : this.#split(this.#open(this.#head));
    if (this.#held > 0 || this.#skipped > 0) this.#finish(lines, 0);
    return lines;
  }

  /** First bytes of the input: drops a UTF-8 BOM. */
  #open(bytes: Buffer): Buffer {
    this.#head = undefined;
    const [first, second] = bytes;
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
      throw new BulkheadError(
        'BAD_INPUT',
        'The input is UTF-16 text. Save it as UTF-8 (PowerShell: `Out-File -Encoding utf8`) and run again.',
      );
    }
    return first === 0xef && second === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  }

  #split(bytes: Buffer): InputLine[] {
    const lines: InputLine[] = [];
    let from = this.#splitPlain(bytes, lines);
    for (;;) {
      const end = bytes.indexOf(NEWLINE, from);
      if (end === -1) break;
      this.#keep(bytes.subarray(from, end));
      this.#finish(lines, 1);
      from = end + 1;
    }
    // A copy: the chunk may be a view into a buffer that its owner fills again.
    if (from < bytes.length) this.#keep(Buffer.from(bytes.subarray(from)));
    return lines;
  }

  /**
   * Whole lines of a chunk that is ASCII: decoded at once and cut as text. Gives where the rest begins, which is looked at
   * with care: an unfinished line, or one that is too long.
   */
  #splitPlain(bytes: Buffer, lines: InputLine[]): number {
    if (this.#held > 0 || this.#skipped > 0 || !isAscii(bytes)) return 0;
    const text = bytes.toString('latin1');
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      if (end - from > this.#maxBytes) break;
      this.#line++;
      const line = text.slice(from, end);
      if (!isBlank(line)) lines.push({ line: this.#line, text: line, bytes: end - from + 1 });
      from = end + 1;
    }
    return from;
  }

  #keep(part: Buffer): void {
    if (this.#skipped > 0 || this.#held + part.length > this.#maxBytes) {
      this.#skipped += this.#held + part.length;
      this.#parts = [];
      this.#held = 0;
      return;
    }
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#held += part.length;
  }

  #finish(lines: InputLine[], endBytes: number): void {
    this.#line++;
    const line = this.#line;
    if (this.#skipped > 0) {
      const problem = `the line has ${this.#skipped} bytes, the limit is ${this.#maxBytes}`;
      lines.push({ line, text: undefined, problem, bytes: this.#skipped + endBytes });
      this.#skipped = 0;
      return;
    }
    const [first] = this.#parts;
    const raw = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#held = 0;
    const text = raw.toString('utf8');
    if (isBlank(text)) return;
    if (text.includes(REPLACEMENT) && !isUtf8(raw)) {
      lines.push({
        line,
        text: undefined,
        problem: 'the line is not valid UTF-8',
        bytes: raw.length + endBytes,
      });
      return;
    }
    lines.push({ line, text, bytes: raw.length + endBytes });
  }
}

/** JSON's whitespace only: a line of other invisible characters is a mistake that should be seen. */
function isBlank(line: string): boolean {
  return line.charCodeAt(0) !== OPEN_BRACE && /^[ \t\r]*$/.test(line);
}
