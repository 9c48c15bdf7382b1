/** How fast a count grows, over the last few looks at it. Time is an argument. Pure. */

/** A chunk that ends makes many lines at once: two looks alone would jump. */
const LOOKS = 10;
const MS_PER_SECOND = 1_000;

export class RateMeter {
  readonly #looks: { atMs: number; count: number }[] = [];

  /** Growth a second; undefined at the first look. */
  look(count: number, atMs: number): number | undefined {
    const first = this.#looks[0];
    this.#looks.push({ atMs, count });
    if (this.#looks.length > LOOKS) this.#looks.shift();
    if (first === undefined || atMs <= first.atMs) return undefined;
    return ((count - first.count) / (atMs - first.atMs)) * MS_PER_SECOND;
  }
}
