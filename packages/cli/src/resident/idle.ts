/** Ends a resident that nobody has used for a while. A call that takes longer than that is use. */
export class Idle {
  readonly #limitMs: number;
  readonly #isBusy: () => Promise<boolean>;
  readonly #over: () => void;
  #timer: NodeJS.Timeout;

  /** @param isBusy whether something is under way although nobody asked for anything new. */
  constructor(limitMs: number, isBusy: () => Promise<boolean>, over: () => void) {
    this.#limitMs = limitMs;
    this.#isBusy = isBusy;
    this.#over = over;
    this.#timer = this.#wait();
  }

  /** Somebody uses it. */
  touch(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #wait(): NodeJS.Timeout {
    return setTimeout(async () => {
      const busy = await this.#isBusy().catch(() => false);
      if (busy) this.#timer = this.#wait();
      else this.#over();
    }, this.#limitMs);
  }
}
