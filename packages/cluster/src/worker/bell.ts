/** Wakes whoever waits for something to change, to look again. Rung at every beat, so that nobody waits for good. */
export class Bell {
  #ring: () => void = () => {};
  #next = this.#make();

  /** The next ring. */
  get next(): Promise<void> {
    return this.#next;
  }

  ring(): void {
    const ring = this.#ring;
    this.#next = this.#make();
    ring();
  }

  #make(): Promise<void> {
    return new Promise((resolve) => {
      this.#ring = resolve;
    });
  }
}
