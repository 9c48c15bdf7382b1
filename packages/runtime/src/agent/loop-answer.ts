/** One answer of a model, read to its end or to the abort, whichever comes first. */
import type { AgentEvent } from './loop-events.js';
import {
  type AssistantPart,
  cutOff,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from './models/model.js';

export interface Answer {
  readonly end: Extract<ModelEvent, { type: 'end' }>;
}

/** What was said before an answer was given up. */
export class Unfinished extends Error {
  readonly said: readonly AssistantPart[];

  constructor(text: string, cause: unknown) {
    super('the answer has no end', { cause });
    const kept = text.trimEnd().toWellFormed();
    this.said = kept === '' ? [] : [{ type: 'text', text: kept }];
  }
}

/** @throws {Unfinished} with what the model or its SDK threw, or the reason of the abort, as its cause. */
export async function readAnswer(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  tell: (event: Extract<AgentEvent, { type: 'text' | 'reasoning' | 'omitted' }>) => void,
): Promise<Answer['end']> {
  let text = '';
  let stop: (() => void) | undefined;
  // A model that does not listen to its signal must not keep the run.
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  aborted.catch(() => {});
  let events: AsyncIterator<ModelEvent> | undefined;
  try {
    signal.throwIfAborted();
    events = model.stream(request, signal)[Symbol.asyncIterator]();
    for (;;) {
      const next = events.next();
      next.catch(() => {});
      const { value, done } = await Promise.race([aborted, next]);
      if (done === true) throw signal.aborted ? signal.reason : cutOff(model.provider);
      if (value.type === 'end') return value;
      if (value.type === 'text') text += value.text;
      tell(value);
    }
  } catch (cause) {
    throw new Unfinished(text, cause);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
    // Not awaited: a generator that hangs would hang here too.
    events?.return?.()?.catch(() => {});
  }
}
