/** A set of line numbers, one bit each: ten million lines take 1.2 MiB. */

const FIRST_BYTES = 4_096;

/** A set of line numbers, one bit each up to the largest: a million lines are 125 kB. */
export class LineSet {
  #bits = new Uint8Array(FIRST_BYTES);
  #size = 0;

  /** How many lines are in it. */
  get size(): number {
    return this.#size;
  }

  /** Whether the line is in it. */
  has(line: number): boolean {
    return ((this.#bits[line >>> 3] ?? 0) & (1 << (line & 7))) !== 0;
  }

  /** False when it was there already. */
  add(line: number): boolean {
    if (this.has(line)) return false;
    const index = line >>> 3;
    if (index >= this.#bits.length) {
      const larger = new Uint8Array(Math.max(index + 1, this.#bits.length * 2));
      larger.set(this.#bits);
      this.#bits = larger;
    }
    this.#bits[index] = (this.#bits[index] ?? 0) | (1 << (line & 7));
    this.#size++;
    return true;
  }

  /** The lines, in ascending order. */
  *[Symbol.iterator](): Generator<number> {
    for (const [index, byte] of this.#bits.entries()) {
      if (byte === 0) continue;
      for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) yield index * 8 + bit;
    }
  }
}
