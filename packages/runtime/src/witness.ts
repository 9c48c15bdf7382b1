/**
 * Account of every call for whoever writes it down: how it was made, how it ended, how long it took. Calls are followed
 * only when somebody wants to know; an account crosses threads when an attached agent made the call.
 */
import { threadId } from 'node:worker_threads';
import { BulkheadError, type ErrorCode, now, type Outcome } from '@bulkhead/workers';
import type { GatedCall } from './gate.js';

export interface CallAccount extends Omit<GatedCall, 'server' | 'args'> {
  /** Null when the call named no server that there is. */
  server: string | null;
  /** JSON text of an object; undefined when the arguments were none. */
  args: string | undefined;
  outcome: Outcome;
  /** Of the error, when there was no answer. */
  code?: ErrorCode;
  /** When it ended, as `Date.now()` gives it. */
  endedAt: number;
  /** From the call to its end, what it waited for included. */
  durationMs: number;
  /** Thread that made it. */
  thread: number;
}

/** Told of every call before its caller hears of the end. Must not throw. */
export type Witness = (account: CallAccount) => void;

type Named = Pick<CallAccount, 'callId' | 'route' | 'server' | 'tool' | 'args'>;

/** The same promise, seen by the witness. */
export function witnessed<T extends { outcome: Outcome }>(
  witness: Witness,
  call: Named,
  sent: Promise<T>,
): Promise<T> {
  const startedAt = now();
  return sent.then(
    (result) => {
      witness({ ...call, ...ended(startedAt), outcome: result.outcome });
      return result;
    },
    (error: unknown) => {
      witness({ ...call, ...ended(startedAt), ...failureOf(error) });
      throw error;
    },
  );
}

/** A call that ended before it could be made. */
export function refused(witness: Witness, call: Named, error: unknown): void {
  witness({ ...call, ...ended(now()), ...failureOf(error) });
}

function ended(startedAt: number): Pick<CallAccount, 'endedAt' | 'durationMs' | 'thread'> {
  return { endedAt: Date.now(), durationMs: now() - startedAt, thread: threadId };
}

function failureOf(error: unknown): Pick<CallAccount, 'outcome' | 'code'> {
  return error instanceof BulkheadError
    ? { outcome: error.outcome, code: error.code }
    : { outcome: 'outcome_unknown' };
}

/** All of them in turn; undefined when there is none. */
export function allWitnesses(witnesses: readonly (Witness | undefined)[]): Witness | undefined {
  const present = witnesses.filter((one) => one !== undefined);
  if (present.length < 2) return present[0];
  return (account) => {
    for (const witness of present) witness(account);
  };
}
