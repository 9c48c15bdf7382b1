/** A simulated worker: a CPU, so many calls in flight at once, and the chunks that it holds. */

export class Worker {
  cpu;
  isDead = false;
  takings = new Set();
  #free;
  /** Takings that wait for a slot, one entry for each; first come, first served. */
  #asked = [];
  #head = 0;
  #askedBy = new Map();

  constructor(cpu, window) {
    this.cpu = cpu;
    this.#free = window;
  }

  askSlot(taking) {
    if (this.#free > 0) {
      this.#free--;
      taking.slot();
      return;
    }
    this.#asked.push(taking);
    this.#askedBy.set(taking, this.askedBy(taking) + 1);
  }

  askedBy(taking) {
    return this.#askedBy.get(taking) ?? 0;
  }

  freeSlot() {
    const next = this.#asked[this.#head];
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#head++;
    if (this.#head === this.#asked.length) {
      this.#asked = [];
      this.#head = 0;
    }
    this.#askedBy.set(next, this.askedBy(next) - 1);
    next.slot();
  }

  drop(taking) {
    this.takings.delete(taking);
    this.#askedBy.delete(taking);
  }
}
