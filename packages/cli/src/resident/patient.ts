/** Questions to a resident that give up when it does not answer, for screens that ask again and again. */
import { ControlClient } from '@bulkhead/runtime/control/client';
import type { Context } from '../context.js';

/** A status takes milliseconds; a busy machine some more. Commands wait for a server's end. */
const ANSWER_MS = 10_000;

/** @param signal ends what is asked; with it nothing is given up by itself. */
export function patient(
  { entry }: ControlClient,
  { interrupt }: Context,
  signal?: AbortSignal,
): ControlClient {
  const limit = signal ?? AbortSignal.timeout(ANSWER_MS);
  return new ControlClient(entry, { signal: AbortSignal.any([interrupt.signal, limit]) });
}
