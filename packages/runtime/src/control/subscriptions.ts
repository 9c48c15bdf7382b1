/** Subscriptions that several clients share: the first to come makes one at the server, the last to leave takes it back. */
import type { ServerView } from '../api.js';

type Subscribed = Pick<ServerView, 'name' | 'subscribe' | 'unsubscribe'>;

export class Subscriptions {
  readonly #held = new Map<string, { clients: number; made: Promise<void> }>();

  /** Resolves once the server has taken it, with the way out. @throws {BulkheadError} as `subscribe` does. */
  async join(view: Subscribed, uri: string): Promise<() => Promise<void>> {
    const key = JSON.stringify([view.name, uri]);
    let held = this.#held.get(key);
    if (held === undefined) {
      held = { clients: 0, made: view.subscribe(uri) };
      this.#held.set(key, held);
    }
    const mine = held;
    mine.clients++;
    const leave = async (): Promise<void> => {
      if (--mine.clients > 0) return;
      if (this.#held.get(key) === mine) this.#held.delete(key);
      // A server that is gone has forgotten it by itself.
      await view.unsubscribe(uri).catch(() => {});
    };
    try {
      await mine.made;
    } catch (error) {
      if (--mine.clients === 0 && this.#held.get(key) === mine) this.#held.delete(key);
      throw error;
    }
    return leave;
  }
}
