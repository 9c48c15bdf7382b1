/**
 * Whose turn it is among the lines of a server that have the same affinity: one at a time, in the order in which they
 * came. A line keeps its turn until it has its end, over all tries. Pure; constant work per line.
 */

interface Queue<T> {
  items: T[];
  /** Index of the next one: shifting a long array would cost its whole length each time. */
  head: number;
}

export class Turns<T> {
  /** By server and key; a key is there while a line has its turn. */
  readonly #queues = new Map<string, Map<string, Queue<T>>>();
  readonly #admit: (item: T) => void;
  #waiting = 0;
  /** Lines whose turn has come, while one of them is being admitted. */
  #due: T[] | undefined;

  /** @param admit takes a line whose turn has come; it may end at once. */
  constructor(admit: (item: T) => void) {
    this.#admit = admit;
  }

  /** Lines that wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** True: it is the line's turn. False: it waits, and is admitted later. */
  take(server: string, key: string, item: T): boolean {
    let keys = this.#queues.get(server);
    if (keys === undefined) {
      keys = new Map();
      this.#queues.set(server, keys);
    }
    const queue = keys.get(key);
    if (queue === undefined) {
      keys.set(key, { items: [], head: 0 });
      return true;
    }
    queue.items.push(item);
    this.#waiting++;
    return false;
  }

  /** The line that has the turn has ended. */
  pass(server: string, key: string): void {
    const keys = this.#queues.get(server);
    const queue = keys?.get(key);
    if (queue === undefined) return;
    const next = queue.items[queue.head];
    if (next === undefined) {
      keys?.delete(key);
      return;
    }
    queue.head++;
    if (queue.head > 1_024) {
      queue.items = queue.items.slice(queue.head);
      queue.head = 0;
    }
    this.#waiting--;
    // A loop, not a recursion: when a server is gone for good, each admitted line ends at once and passes the turn on.
    if (this.#due !== undefined) {
      this.#due.push(next);
      return;
    }
    this.#due = [next];
    for (let item = this.#due.pop(); item !== undefined; item = this.#due.pop()) this.#admit(item);
    this.#due = undefined;
  }
}
