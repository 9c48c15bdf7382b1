/** What will happen, in the order of its time; at the same time in the order in which it was planned. */

export class Events {
  #heap = [];
  #planned = 0;
  now = 0;

  /** @param {number} at in ms */
  plan(at, act) {
    this.#push({ at, order: this.#planned++, act });
  }

  /** Until nothing is planned any more. */
  run() {
    for (let next = this.#pop(); next !== undefined; next = this.#pop()) {
      this.now = next.at;
      next.act();
    }
  }

  #push(event) {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(event);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[i] = heap[parent];
      i = parent;
    }
    heap[i] = event;
  }

  #pop() {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0) return first;
    let i = 0;
    for (let child = 1; child < heap.length; child = 2 * i + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[i] = heap[child];
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function isBefore(a, b) {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
