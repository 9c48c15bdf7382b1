/**
 * What all actors of a run share: the runtime, the clock of its acts (`over`: no new good calls and no more mischief by
 * hand; `closed`: no new calls at all), counts, and violations.
 */
const SHOWN_MAX = 50;

export class Stage {
  seed;
  run;
  runtime;
  over = false;
  closed = false;
  /** Supervisor threads lost so far, and whether one is being killed now. */
  losses = 0;
  killing = false;
  counts = new Map();
  violations = [];
  #hidden = 0;

  constructor(seed, run) {
    this.seed = seed;
    this.run = run;
  }

  count = (what, by = 1) => {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  };

  /** A sentence that says what is not as it must be. */
  violation = (text) => {
    if (this.violations.length < SHOWN_MAX) this.violations.push(text);
    else this.#hidden++;
  };

  get violationCount() {
    return this.violations.length + this.#hidden;
  }
}
