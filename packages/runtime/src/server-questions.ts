/** What a server is asking at the moment, through the calls of this agent; their deadlines stand still meanwhile. */
import { type LaneAsk, now } from '@bulkhead/workers';
import type { AskAnswer, AskDesk } from './asks.js';

export class ServerQuestions {
  readonly #server: string;
  readonly #desk: AskDesk;
  readonly #postpone: (passedMs: number) => void;
  readonly #open = new Map<number, AbortController>();
  #pausedAt = 0;

  /** @param postpone deadlines stood still for so long. */
  constructor(server: string, desk: AskDesk, postpone: (passedMs: number) => void) {
    this.#server = server;
    this.#desk = desk;
    this.#postpone = postpone;
  }

  /** Somebody is being asked. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  heard(ask: LaneAsk, answer: (id: number, answer: AskAnswer) => void): void {
    if (ask.type === 'ask-cancelled') {
      this.#open.get(ask.id)?.abort();
      return;
    }
    const abort = new AbortController();
    if (this.#open.size === 0) this.#pausedAt = now();
    this.#open.set(ask.id, abort);
    void this.#desk.answer(this.#server, ask, abort.signal).then((answered) => {
      this.#open.delete(ask.id);
      if (this.#open.size === 0) this.#postpone(now() - this.#pausedAt);
      answer(ask.id, answered);
    });
  }

  /** Nobody waits for the answers any more. */
  abort(): void {
    for (const ask of this.#open.values()) ask.abort();
  }
}
