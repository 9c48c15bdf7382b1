/**
 * The output of a chunk's run: takes output lines and writes them to the ledger, many in one step, again and again until
 * they are there. While more waits than may, the run starts no further call.
 */
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { resultHead } from '@bulkhead/runtime/batch';
import type { Ledger, LineResult, Standing } from '../ledger.js';

export interface ResultSinkOptions {
  ledger: Ledger;
  batch: string;
  chunk: string;
  owner: string;
  /** Written in one step, and then not waited for any longer. */
  lines: number;
  bytes: number;
  /** A line waits at most this long for others, in ms. */
  flushMs: number;
  /** Before a step that failed is tried again, in ms. */
  retryMs: number;
  /** Aborted: the worker cannot wait any longer, and what is not written is lost. */
  signal: AbortSignal;
  /** A line is there; told before it is written. */
  onLine: () => void;
  /** What the ledger says with each step. */
  onTold: (standing: Standing, unreadBytes: number) => void;
}

export class ResultSink extends Writable {
  readonly #options: ResultSinkOptions;
  readonly #decoder = new StringDecoder('utf8');
  /** Pieces of a line that is not whole yet. */
  #open: string[] = [];
  #waiting: LineResult[] = [];
  #waitingChars = 0;
  #timer: NodeJS.Timeout | undefined;
  #putting: Promise<void> | undefined;
  #room: (() => void) | undefined;
  /** Lines that have come. */
  readonly seen = new Set<number>();

  constructor(options: ResultSinkOptions) {
    super({ decodeStrings: false, highWaterMark: options.bytes });
    this.#options = options;
  }

  override _write(piece: string | Buffer, _encoding: string, done: () => void): void {
    this.#take(typeof piece === 'string' ? piece : this.#decoder.write(piece));
    if (this.#waitingChars <= this.#options.bytes) done();
    else this.#room = done;
    this.#schedule();
  }

  /** Everything that has come is written, or given up. */
  async settled(): Promise<void> {
    while (this.#waiting.length > 0 || this.#putting !== undefined) {
      this.#flush();
      await this.#putting;
    }
    clearTimeout(this.#timer);
  }

  #take(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      const last = text.slice(from, end);
      from = end + 1;
      const line = this.#open.length === 0 ? last : this.#open.join('') + last;
      this.#open = [];
      const head = resultHead(line);
      if (head === undefined) throw new Error('a batch wrote a line that is no output line');
      this.#add({ line: head.line, outcome: head.outcome, text: line });
    }
    if (from < text.length) this.#open.push(text.slice(from));
  }

  #add(result: LineResult): void {
    this.seen.add(result.line);
    this.#waiting.push(result);
    this.#waitingChars += result.text.length;
    this.#options.onLine();
  }

  #schedule(): void {
    const { lines, bytes, flushMs } = this.#options;
    if (this.#waiting.length >= lines || this.#waitingChars >= bytes) this.#flush();
    else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#flush(), flushMs);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#putting !== undefined || this.#waiting.length === 0) return;
    this.#putting = this.#putAll().finally(() => {
      this.#putting = undefined;
      this.#schedule();
    });
  }

  async #putAll(): Promise<void> {
    for (let step = this.#next(); step.length > 0; step = this.#next()) {
      await this.#putStep(step);
      if (this.#waitingChars > this.#options.bytes) continue;
      const room = this.#room;
      this.#room = undefined;
      room?.();
    }
  }

  /** Few enough for one step; at least one line, however long. */
  #next(): LineResult[] {
    const { lines, bytes } = this.#options;
    let count = 0;
    let chars = 0;
    for (const { text } of this.#waiting) {
      if (count > 0 && (count >= lines || chars + text.length > bytes)) break;
      count++;
      chars += text.length;
    }
    this.#waitingChars -= chars;
    return this.#waiting.splice(0, count);
  }

  async #putStep(step: readonly LineResult[]): Promise<void> {
    const { ledger, batch, chunk, owner, retryMs, signal, onTold } = this.#options;
    while (!signal.aborted) {
      try {
        const { standing, unreadBytes } = await ledger.putResults(batch, chunk, owner, step);
        onTold(standing, unreadBytes);
        return;
      } catch {
        await sleep(retryMs, undefined, { signal }).catch(() => {});
      }
    }
  }
}
