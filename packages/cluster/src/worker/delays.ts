/**
 * How long a chunk stays away that cannot run now. The more chunks of a batch do so in a row, the longer: thousands that
 * came back every second would keep the queue busy with nothing. Pure.
 */
const STEP_SHARE = 0.02;
const MOST_TIMES = 30;

export class Delays {
  readonly #baseMs: number;
  /** Chunks that were sent away since one of the batch has run. */
  readonly #inRow = new Map<string, number>();

  constructor(baseMs: number) {
    this.#baseMs = baseMs;
  }

  next(batch: string): number {
    const count = this.#inRow.get(batch) ?? 0;
    this.#inRow.set(batch, count + 1);
    return Math.min(this.#baseMs * MOST_TIMES, this.#baseMs * (1 + count * STEP_SHARE));
  }

  /** A chunk of the batch runs. */
  reset(batch: string): void {
    this.#inRow.delete(batch);
  }
}
