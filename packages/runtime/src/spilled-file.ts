/**
 * A result that lies in a file of the runtime's spill directory. The file goes when nobody holds the result any more, or
 * with the runtime, whichever comes first.
 */
import { readFileSync, unlink } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { BulkheadError, type ShapeSource } from '@bulkhead/workers';
import type { SpillFacts } from './api.js';
import type { Lent } from './held-bytes.js';

const unheld = new FinalizationRegistry<string>((path) => unlink(path, () => {}));

/** For an answer that came too late: nobody will hold it. */
export function dropSpilled({ path }: SpillFacts): void {
  unlink(path, () => {});
}

export class SpilledFile implements SpillFacts {
  readonly path: string;
  readonly bytes: number;

  constructor({ path, bytes }: SpillFacts) {
    this.path = path;
    this.bytes = bytes;
    unheld.register(this, path);
  }

  /** Reads the file anew, and blocks for as long as that takes. @throws {BulkheadError} `CLOSED` when it is gone. */
  text(): string {
    try {
      return readFileSync(this.path, 'utf8');
    } catch (cause) {
      throw this.#gone(cause);
    }
  }

  /** The same without blocking. */
  async read(): Promise<Uint8Array> {
    try {
      return await readFile(this.path);
    } catch (cause) {
      throw this.#gone(cause);
    }
  }

  lend(): Lent {
    const source: ShapeSource = { kind: 'file', path: this.path, bytes: this.bytes };
    // `end` holds this, and so the file, until the task is over.
    return { source, transfer: [], whenHere: (run) => run(), end: () => void this.bytes };
  }

  #gone(cause: unknown): BulkheadError {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new BulkheadError(
      'CLOSED',
      `a result of ${this.bytes} bytes lay in a file that cannot be read any more (${why}); read it before runtime.close(), or set spillBytes to 0`,
      { cause },
    );
  }
}
