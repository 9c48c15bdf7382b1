/**
 * One taking of a chunk by a simulated worker, in the steps of the real one: a line gets a slot, is noted as sent together
 * with others that wait, runs, and its result is written together with others that have come.
 */
import { END } from './lines.mjs';

export class Taking {
  #simulation;
  worker;
  chunk;
  #inFlight;
  #toRun;
  #next = 0;
  /** Lines that wait for a slot or have one. */
  #under = 0;
  #starts = [];
  #isNoting = false;
  #results = [];
  #putting = 0;
  #isTimed = false;
  #left;

  /** @param {number} inFlight lines under way at once, at most */
  constructor(simulation, worker, chunk, inFlight) {
    this.#simulation = simulation;
    this.worker = worker;
    this.chunk = chunk;
    this.#inFlight = inFlight;
    const { lines } = simulation;
    const open = chunk.lines.filter((line) => lines.fate(line) !== 'done');
    this.#toRun = open.filter((line) => lines.fate(line) === 'run');
    this.#left = open.length;
    this.#results = open.filter((line) => lines.fate(line) === 'unknown').map((line) => [line, END.unknown]);
  }

  /** Lines that may end as unknown if the worker dies now: under way, or answered and not written yet. */
  get atRisk() {
    return this.#under + this.#results.length + this.#putting;
  }

  begin() {
    if (this.#left === 0) {
      this.#simulation.finished(this);
      return;
    }
    if (this.#results.length > 0) this.#flush();
    this.#ask();
  }

  /** It has a slot for a line. */
  slot() {
    this.#starts.push(this.#toRun[this.#next++]);
    if (!this.#isNoting) this.#note();
  }

  #ask() {
    while (this.#under < this.#inFlight && this.#next + this.#waiting() < this.#toRun.length) {
      this.#under++;
      this.worker.askSlot(this);
    }
  }

  /** Slots that were asked for and not given. */
  #waiting() {
    return this.worker.askedBy(this);
  }

  #note() {
    const { numbers, store, lines } = this.#simulation;
    this.#isNoting = true;
    // What asks in the same moment goes together.
    this.#simulation.soon(() => {
      const group = this.#starts.splice(0, numbers.resultLines);
      store.do(numbers.stepMs, numbers.wayMs, () => {
        for (const line of group) lines.markSent(line);
        if (this.worker.isDead) return;
        for (const line of group) this.#send(line);
        this.#isNoting = false;
        if (this.#starts.length > 0) this.#note();
      });
    });
  }

  #send(line) {
    const { numbers, lines, events } = this.#simulation;
    this.worker.cpu.do(numbers.lineMs, 0, () => {
      if (this.worker.isDead) return;
      lines.ran(line);
      events.plan(events.now + this.#simulation.latency(), () => this.#answer(line));
    });
  }

  #answer(line) {
    if (this.worker.isDead) return;
    this.#results.push([line, END.ok]);
    this.#under--;
    this.worker.freeSlot();
    this.#ask();
    const { numbers, events } = this.#simulation;
    if (this.#results.length >= numbers.resultLines) this.#flush();
    else if (!this.#isTimed) {
      this.#isTimed = true;
      events.plan(events.now + numbers.flushMs, () => {
        this.#isTimed = false;
        if (!this.worker.isDead) this.#flush();
      });
    }
  }

  #flush() {
    if (this.#putting > 0 || this.#results.length === 0) return;
    const { numbers, store, lines } = this.#simulation;
    const step = this.#results.splice(0, numbers.resultLines);
    this.#putting = step.length;
    store.do(numbers.stepMs + step.length * numbers.storeLineMs, numbers.wayMs, () => {
      for (const [line, end] of step) lines.end(line, end);
      if (this.worker.isDead) return;
      this.#putting = 0;
      this.#left -= step.length;
      if (this.#left === 0) this.#simulation.finished(this);
      else this.#flush();
    });
  }
}
