/** A sign in the store that somebody submits a batch at this moment, which goes away with whoever does. */
import { randomUUID } from 'node:crypto';
import { BulkheadError } from '@bulkhead/workers';
import { clusterDefaults } from './defaults.js';
import type { Ledger } from './ledger.js';

/** A renewal may fail, and the next one still be in time. */
const RENEWALS = 4;

/** A second submitter of the same batch works as well; it takes over the sign when the first has gone. */
export async function whileSubmitting<T>(ledger: Ledger, batch: string, work: () => Promise<T>): Promise<T> {
  const { submitLeaseMs } = clusterDefaults;
  const name = nameOf(batch);
  const owner = randomUUID();
  let renewal = Promise.resolve();
  const renew = (): void => {
    renewal = ledger.lease(name, owner, submitLeaseMs).then(
      () => {},
      () => {}, // then the work fails as well, or the next renewal does not
    );
  };
  renew();
  const timer = setInterval(renew, submitLeaseMs / RENEWALS);
  const release = async (): Promise<void> => {
    await renewal;
    await ledger.release(name, owner).catch(() => {}); // then it runs out by itself
  };
  try {
    const end = await work();
    clearInterval(timer);
    await release();
    return end;
  } catch (error) {
    clearInterval(timer);
    // A store that is away would be waited for once more.
    if (!(error instanceof BulkheadError && error.code === 'CONNECTION_LOST')) await release();
    throw error;
  }
}

export function isSubmitting(ledger: Ledger, batch: string): Promise<boolean> {
  return ledger.isLeased(nameOf(batch));
}

function nameOf(batch: string): string {
  return `submit-${batch}`;
}
