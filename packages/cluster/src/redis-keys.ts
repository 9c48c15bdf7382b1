/** Names of the ledger's keys on Redis. All of one batch share a hash tag, and so do those of the fleet. Pure. */

const FLEET = 'bulkhead:{fleet}:';

export const fleetKeys = {
  /** Sorted set: ids by creation. */
  batches: `${FLEET}batches`,
  /** Hash: queue name to its record. */
  queues: `${FLEET}queues`,
  /** Sorted set: worker ids by when they count as gone. */
  expiries: `${FLEET}expiries`,
  /** Hash: worker id to its record. */
  workers: `${FLEET}workers`,
  lease: (name: string): string => `${FLEET}lease:${name}`,
  places: (name: string): string => `${FLEET}places:${name}`,
  rate: (name: string): string => `${FLEET}rate:${name}`,
} as const;

export interface BatchKeys {
  /** Hash: the record. */
  batch: string;
  /** Set: job ids. */
  chunks: string;
  /** Hash: chunk to the token of its owner. */
  owners: string;
  /** Bitmaps by line number. */
  sent: string;
  answered: string;
  /** Stream. */
  results: string;
  /** Set: references of long lines. */
  blobs: string;
  /** Hashes of numbered pieces; the reference follows. */
  blob: string;
}

export function batchKeys(id: string): BatchKeys {
  const tag = `bulkhead:{${id}}:`;
  return {
    batch: `${tag}batch`,
    chunks: `${tag}chunks`,
    owners: `${tag}owners`,
    sent: `${tag}sent`,
    answered: `${tag}answered`,
    results: `${tag}results`,
    blobs: `${tag}blobs`,
    blob: `${tag}blob:`,
  };
}
