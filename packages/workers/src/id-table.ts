/**
 * What is in flight, by id. Ids are counted up and mostly end in order, so a ring of slots holds them and a Map takes
 * the few that stay behind. Not a Map for all of them: one that lives on insertions and deletions replaces its table
 * every few dozen, each dead table still holds what was in it and leads to the next, and once the first of them is old
 * the collector keeps every value that ever passed until its next full run (measured: half of all calls survived).
 */

const SLOTS = 256;

export class IdTable<T> {
  #ids: number[] = new Array(SLOTS).fill(0);
  #values: (T | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #behind = new Map<number, T>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @param id a whole number above 0 that is not in the table. */
  set(id: number, value: T): void {
    const slot = id % SLOTS;
    const held = this.#values[slot];
    if (held !== undefined) this.#behind.set(this.#ids[slot] as number, held);
    this.#ids[slot] = id;
    this.#values[slot] = value;
    this.#size++;
  }

  get(id: number): T | undefined {
    const slot = id % SLOTS;
    if (this.#ids[slot] === id) return this.#values[slot];
    return this.#behind.size === 0 ? undefined : this.#behind.get(id);
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  /** Takes the value out and gives it; undefined when there is none. */
  take(id: number): T | undefined {
    const slot = id % SLOTS;
    let value: T | undefined;
    if (this.#ids[slot] === id) {
      value = this.#values[slot];
      this.#values[slot] = undefined;
    } else if (this.#behind.size > 0) {
      value = this.#behind.get(id);
      this.#behind.delete(id);
    }
    if (value !== undefined) this.#size--;
    return value;
  }

  /** The values in the order of their ids, as they stand now: the table may change while they are looked at. */
  values(): T[] {
    const entries = [...this.#behind];
    for (const [slot, value] of this.#values.entries()) {
      if (value !== undefined) entries.push([this.#ids[slot] as number, value]);
    }
    return entries.sort(([a], [b]) => a - b).map(([, value]) => value);
  }

  clear(): void {
    this.#values.fill(undefined);
    this.#behind.clear();
    this.#size = 0;
  }
}
