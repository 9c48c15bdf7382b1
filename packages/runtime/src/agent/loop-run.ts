/**
 * A run as its caller holds it: awaited it gives the result, iterated it gives the events. Events are kept for those who
 * iterate and for nobody else.
 */
import type { AgentEvent, RunResult } from './loop-events.js';

/** A run in progress. Await it for its {@link RunResult}, or iterate over its events first. */
export class AgentRun implements PromiseLike<RunResult>, AsyncIterable<AgentEvent> {
  /** Never rejects: what went wrong is its `stopReason` and `error`. */
  readonly result: Promise<RunResult>;
  readonly #readers = new Set<EventReader>();

  /** @param work Gets what tells an event; begins after the caller had time to iterate. */
  constructor(
    work: (emit: (event: AgentEvent) => void) => Promise<RunResult>,
    onEvent: ((event: AgentEvent) => void) | undefined,
  ) {
    const emit = (event: AgentEvent) => {
      for (const reader of this.#readers) reader.push(event);
      try {
        onEvent?.(event);
      } catch {
        // The host's own listener: its trouble must not become the run's.
      }
    };
    this.result = Promise.resolve()
      .then(() => work(emit))
      .then((result) => {
        emit({ type: 'end', result });
        for (const reader of this.#readers) reader.end();
        return result;
      });
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is awaited for its result and iterated for its events
  then<A = RunResult, B = never>(
    fulfilled?: ((result: RunResult) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.result.then(fulfilled, rejected);
  }

  /** The events from now on; all of them when it is asked for at once. Leaving the iteration does not stop the run. */
  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    const reader = new EventReader(() => this.#readers.delete(reader));
    this.#readers.add(reader);
    // A run that is over has nothing more to tell.
    void this.result.finally(() => reader.end());
    return reader;
  }
}

class EventReader implements AsyncIterator<AgentEvent, undefined> {
  readonly #waiting: AgentEvent[] = [];
  readonly #leave: () => void;
  #asked: ((result: IteratorResult<AgentEvent, undefined>) => void)[] = [];
  #ended = false;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  push(event: AgentEvent): void {
    const asked = this.#asked.shift();
    if (asked === undefined) this.#waiting.push(event);
    else asked({ value: event, done: false });
  }

  end(): void {
    this.#ended = true;
    for (const asked of this.#asked.splice(0)) asked({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<AgentEvent, undefined>> {
    const value = this.#waiting.shift();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#asked.push(resolve));
  }

  return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#leave();
    this.#waiting.length = 0;
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }
}
