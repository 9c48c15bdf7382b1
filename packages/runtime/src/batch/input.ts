/** Pulls the input piece by piece, only while the batch has room, and lets go of it at once when told to stop. */
import { type InputLine, LineSplitter } from './lines.js';

type Piece = Uint8Array | InputLine[];

export interface InputReaderOptions {
  /** Bytes, or lines that are made already. */
  input: AsyncIterable<Piece>;
  maxLineBytes: number;
  hasRoom: () => boolean;
  /** Lines of one piece; blank ones are left out. */
  onLines: (lines: InputLine[]) => void;
}

export class InputReader {
  readonly #options: InputReaderOptions;
  #stopped = false;
  /** Ends the wait that the reader is in: for a piece of input, or for room. */
  #wake: (() => void) | undefined;
  #waitsForRoom = false;

  constructor(options: InputReaderOptions) {
    this.#options = options;
  }

  /** Reads to the end, or until {@link stop}. Resolves with the error that ended the input, if one did. */
  async read(): Promise<Error | undefined> {
    const { input, maxLineBytes, onLines } = this.#options;
    const splitter = new LineSplitter(maxLineBytes);
    const pieces = input[Symbol.asyncIterator]();
    try {
      while (!this.#stopped) {
        const piece = await this.#next(pieces);
        if (this.#stopped) break;
        if (piece === undefined) {
          onLines(splitter.end());
          break;
        }
        onLines(Array.isArray(piece) ? piece : splitter.push(piece));
        await this.#room();
      }
      return undefined;
    } catch (error) {
      return this.#stopped ? undefined : (error as Error);
    } finally {
      this.#letGo(pieces);
    }
  }

  roomMayHaveCome(): void {
    if (this.#waitsForRoom && this.#options.hasRoom()) this.#wake?.();
  }

  stop(): void {
    this.#stopped = true;
    this.#wake?.();
  }

  // Racing against one long-lived promise would keep a reaction per piece alive until the end.
  #next(pieces: AsyncIterator<Piece>): Promise<Piece | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => resolve(undefined);
      pieces.next().then((step) => resolve(step.done === true ? undefined : step.value), reject);
    });
  }

  async #room(): Promise<void> {
    while (!this.#stopped && !this.#options.hasRoom()) {
      this.#waitsForRoom = true;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#waitsForRoom = false;
    }
  }

  /** A stream that still waits for data only ends by being destroyed; `return()` would queue behind its read. */
  #letGo(pieces: AsyncIterator<Piece>): void {
    const { input } = this.#options;
    if ('destroy' in input && typeof input.destroy === 'function') input.destroy();
    else void pieces.return?.()?.catch(() => {});
  }
}
