/**
 * When to read a list again after `list_changed`: one read running, at most one trailing, never closer than a
 * minimum interval that doubles while reads bring nothing new (a server whose list reply itself sends list_changed
 * must not spin). Pure but for the timer it is given.
 */
export interface RefreshTimer {
  after(ms: number, run: () => void): void;
}

const MIN_INTERVAL_MS = 250;
const MAX_INTERVAL_MS = 60_000;

export class Refresher {
  readonly #read: () => Promise<boolean>;
  readonly #timer: RefreshTimer;
  #running = false;
  #scheduled = false;
  #again = false;
  #intervalMs = MIN_INTERVAL_MS;

  /** @param read reads and publishes; resolves to whether anything changed. It must not reject. */
  constructor(read: () => Promise<boolean>, timer: RefreshTimer) {
    this.#read = read;
    this.#timer = timer;
  }

  changed(): void {
    if (this.#running) {
      this.#again = true;
      return;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#timer.after(this.#intervalMs, () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#scheduled = false;
    this.#running = true;
    const news = await this.#read();
    this.#running = false;
    this.#intervalMs = news ? MIN_INTERVAL_MS : Math.min(this.#intervalMs * 2, MAX_INTERVAL_MS);
    if (this.#again) {
      this.#again = false;
      this.changed();
    }
  }
}
