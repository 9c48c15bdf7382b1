/**
 * Which call starts next. One lane per server, first in first out; lanes take turns. Pure.
 *
 * - No lane has more in flight than its window.
 * - While other lanes have work waiting, a lane has at most ceil(slots / lanes with work) in flight.
 * - While further input may bring work for other servers (`moreMayCome`), a lane has at most {@link RATIO} times as
 *   many in flight as there are free slots, and never takes the last one when it has others: calls that hang cannot
 *   be taken back, so this is what keeps one hung server from holding all slots.
 */

/** 7 leaves an eighth of the slots to servers that have not been seen yet: 8 of 64. */
const RATIO = 7;

interface Lane<T> {
  readonly name: string;
  readonly window: number;
  waiting: T[];
  /** Index of the first waiting item: shifting a long array would cost its whole length each time. */
  head: number;
  inFlight: number;
  open: boolean;
  /** What the totals count this lane as. */
  counted: { waiting: boolean; work: boolean };
}

export class Scheduler<T> {
  readonly #slots: number;
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #order: Lane<T>[] = [];
  #cursor = 0;
  #inFlight = 0;
  #waiting = 0;
  #lanesWaiting = 0;
  #lanesWithWork = 0;
  /** Set while lines for servers without a lane, or with an empty one, may still come. */
  moreMayCome = false;

  constructor(slots: number) {
    this.#slots = slots;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Items in all lanes, held ones too. */
  get waiting(): number {
    return this.#waiting;
  }

  /** A lane begins closed. */
  addLane(name: string, window: number): void {
    const lane: Lane<T> = {
      name,
      window: Math.max(1, window),
      waiting: [],
      head: 0,
      inFlight: 0,
      open: false,
      counted: { waiting: false, work: false },
    };
    this.#lanes.set(name, lane);
    this.#order.push(lane);
  }

  push(name: string, item: T): void {
    const lane = this.#lane(name);
    lane.waiting.push(item);
    this.#waiting++;
    this.#count(lane);
  }

  /** Back to the front of its lane: a call that never reached its server. */
  unshift(name: string, item: T): void {
    const lane = this.#lane(name);
    if (lane.head > 0) lane.waiting[--lane.head] = item;
    else lane.waiting.unshift(item);
    this.#waiting++;
    this.#count(lane);
  }

  /** Lets the calls of a lane start, or holds them. */
  setOpen(name: string, open: boolean): void {
    this.#lane(name).open = open;
  }

  /** Takes everything that waits in a lane out of it. */
  drain(name: string): T[] {
    const lane = this.#lane(name);
    const items = lane.waiting.slice(lane.head);
    lane.waiting = [];
    lane.head = 0;
    this.#waiting -= items.length;
    this.#count(lane);
    return items;
  }

  /** Takes the items for which `wanted` holds out of all lanes. */
  takeIf(wanted: (item: T) => boolean): T[] {
    return this.#order.flatMap((lane) => {
      const waiting = lane.waiting.slice(lane.head);
      const taken = waiting.filter(wanted);
      lane.waiting = waiting.filter((item) => !wanted(item));
      lane.head = 0;
      this.#waiting -= taken.length;
      this.#count(lane);
      return taken;
    });
  }

  /** The next item to start, already counted as in flight; undefined when nothing may start now. */
  next(): T | undefined {
    if (this.#inFlight >= this.#slots || this.#waiting === 0) return undefined;
    const lanes = this.#order.length;
    for (let step = 0; step < lanes; step++) {
      const index = (this.#cursor + step) % lanes;
      const lane = this.#order[index];
      if (lane === undefined || !this.#mayStart(lane)) continue;
      this.#cursor = index + 1;
      return this.#take(lane);
    }
    return undefined;
  }

  /** Like {@link next}, but only the item for which `wanted` holds, wherever it stands and whatever the shares. */
  nextIf(wanted: (item: T) => boolean): T | undefined {
    if (this.#inFlight >= this.#slots) return undefined;
    for (const lane of this.#order) {
      if (!lane.open || lane.inFlight >= lane.window) continue;
      // Seldom behind the front: it came back for another try, or its server was found later.
      for (let index = lane.head; index < lane.waiting.length; index++) {
        const item = lane.waiting[index] as T;
        if (!wanted(item)) continue;
        lane.waiting.splice(index, 1);
        lane.waiting.splice(lane.head, 0, item);
        return this.#take(lane);
      }
    }
    return undefined;
  }

  done(name: string): void {
    const lane = this.#lane(name);
    lane.inFlight--;
    this.#inFlight--;
    this.#count(lane);
  }

  #mayStart(lane: Lane<T>): boolean {
    if (!lane.open || lane.head >= lane.waiting.length || lane.inFlight >= lane.window) return false;
    const othersWait = this.#lanesWaiting > 1;
    if (othersWait && lane.inFlight >= Math.ceil(this.#slots / this.#lanesWithWork)) return false;
    if (!this.moreMayCome || lane.inFlight === 0) return true;
    const free = this.#slots - this.#inFlight;
    return free > 1 && lane.inFlight < RATIO * free;
  }

  #take(lane: Lane<T>): T | undefined {
    const item = lane.waiting[lane.head];
    lane.head++;
    if (lane.head === lane.waiting.length || lane.head > 1_024) {
      lane.waiting = lane.waiting.slice(lane.head);
      lane.head = 0;
    }
    lane.inFlight++;
    this.#inFlight++;
    this.#waiting--;
    this.#count(lane);
    return item;
  }

  #count(lane: Lane<T>): void {
    const waiting = lane.head < lane.waiting.length;
    const work = waiting || lane.inFlight > 0;
    if (waiting !== lane.counted.waiting) this.#lanesWaiting += waiting ? 1 : -1;
    if (work !== lane.counted.work) this.#lanesWithWork += work ? 1 : -1;
    lane.counted.waiting = waiting;
    lane.counted.work = work;
  }

  #lane(name: string): Lane<T> {
    const lane = this.#lanes.get(name);
    if (lane === undefined) throw new Error(`no lane for server "${name}"`);
    return lane;
  }
}
