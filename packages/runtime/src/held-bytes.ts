/**
 * A result in the bytes that were moved here from a server thread. They can be lent to the pool without being copied on
 * this thread; the pool sends them back before it begins to work, so they are away for the time of one copy.
 */
import { MessageChannel, receiveMessageOnPort, type Transferable } from 'node:worker_threads';
import { BulkheadError, type ShapeSource } from '@bulkhead/workers';

/** What the pool is given to read, and what becomes of it. */
export interface Lent {
  source: ShapeSource;
  transfer: Transferable[];
  /** Runs when nothing of it is away: at once, or when it came back. */
  whenHere(run: () => void): void;
  /** The task is over, or never began. */
  end(): void;
}

/** How long a reader waits for bytes that are away. They were copied once meanwhile, so this is for a dead pool only. */
const RECALL_MS = 2_000;

export class HeldBytes {
  #bytes: Uint8Array<ArrayBuffer>;
  /** Set while they are promised to the pool, or with it. */
  #recall: ((waitMs: number) => void) | undefined;
  #waiting: (() => void)[] = [];

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  text(): string {
    const { buffer, byteOffset, byteLength } = this.#here();
    return Buffer.from(buffer, byteOffset, byteLength).toString();
  }

  /** A copy: the bytes themselves may be lent. */
  read(): Promise<Uint8Array> {
    return Promise.resolve(this.#here().slice());
  }

  /**
   * Waits for an earlier loan to come back: one buffer can be moved only once.
   * @throws {BulkheadError} `CLOSED` when the bytes are lost.
   */
  async lend(): Promise<Lent> {
    while (this.#recall !== undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const bytes = this.#here();
    const { port1, port2 } = new MessageChannel();
    const returned = new Int32Array(new SharedArrayBuffer(4));
    const over = (): void => {
      port1.close();
      if (this.#recall !== recall) return;
      this.#recall = undefined;
      for (const run of this.#waiting.splice(0)) run();
    };
    const back = (home: Uint8Array<ArrayBuffer>): void => {
      this.#bytes = home;
      over();
    };
    const recall = (waitMs: number): void => {
      if (waitMs > 0) Atomics.wait(returned, 0, 0, waitMs);
      const got = receiveMessageOnPort(port1);
      if (got !== undefined) back(got.message);
    };
    this.#recall = recall;
    port1.once('message', back);
    return {
      source: { kind: 'lent', bytes, home: port2, returned },
      transfer: [bytes.buffer, port2],
      whenHere: (run) => {
        if (this.#isAway) this.#waiting.push(run);
        else run();
      },
      end: () => {
        if (this.#recall === recall) recall(0);
        over();
      },
    };
  }

  /** A buffer that was moved has no length. */
  get #isAway(): boolean {
    return this.#bytes.buffer.byteLength === 0;
  }

  #here(): Uint8Array<ArrayBuffer> {
    if (this.#isAway) this.#recall?.(RECALL_MS);
    if (!this.#isAway) return this.#bytes;
    throw new BulkheadError('CLOSED', 'the bytes of a result went down with the pool; make the call again');
  }
}
