/**
 * What a chunk's run asks before it sends a call: a place among this worker's calls, whether the batch still runs, whether
 * anybody reads its results, what the fleet may send, and last that the ledger has noted the line. So a line that was not
 * noted was certainly not sent.
 */
import { type CallJournal, type Fate, GivenBack } from '@bulkhead/runtime';
import type { BulkheadError, ErrorCode } from '@bulkhead/workers';
import type { Claim, Ledger, Standing } from '../ledger.js';
import { isUnread, type WatchedBatch } from './batch-watch.js';
import type { Bell } from './bell.js';
import type { FleetRate, Places } from './fleet-limits.js';
import type { Slots } from './slots.js';

/**
 * Why no further line of a chunk is sent here. `fenced`: it is another worker's. `unread`: too many results wait.
 * `stopping`: this worker ends, or the shard is not its own any more. `unusable`: the server cannot be used here.
 */
export type StopReason = 'fenced' | 'cancelled' | 'unread' | 'stopping' | 'unusable';

/** Ends of a call that was not sent, by which another worker may be better off. */
const UNUSABLE: ReadonlySet<ErrorCode> = new Set([
  'NOT_READY',
  'DRAINING',
  'CONNECTION_LOST',
  'UNKNOWN_SERVER',
]);

export interface ChunkJournalOptions {
  ledger: Ledger;
  /** Where the ledger is, for messages. */
  place: string;
  batch: WatchedBatch;
  chunk: string;
  owner: string;
  claim: Claim;
  /** The server's own name. */
  server: string;
  slots: Slots;
  places: Places | undefined;
  rate: FleetRate | undefined;
  /** Of a shard: it keeps its turn while results wait; another chunk is given back. */
  waitsInPlace: boolean;
  /** Lines whose server cannot be used here are left to another worker; else they end with the reason. */
  givesBack: boolean;
  /** Lines noted in one step. */
  groupLines: number;
  /** Before something that failed is asked of the store again, in ms. */
  retryMs: number;
  bell: Bell;
  /** Told once, with the first reason. */
  onStop: (reason: StopReason) => void;
}

/** A line that has no slot yet. */
interface Wait {
  isOver: boolean;
  go: (noted: Promise<void>) => void;
  giveBack: () => void;
}

/** Lines that are noted in one step, and then all sent or all given back. */
interface Group {
  lines: number[];
  end: Promise<void>;
  go: () => void;
  giveBack: () => void;
}

export class ChunkJournal implements CallJournal {
  readonly path: string;
  readonly #options: ChunkJournalOptions;
  readonly #groups: Group[] = [];
  readonly #mostLines: number;
  #isNoting = false;
  /** Lines that hold a slot: from their first start to their result. */
  readonly #slotted = new Set<number>();
  readonly #waits = new Set<Wait>();
  /** Lines that were not sent, noted or not. */
  readonly unsentLines: number[] = [];
  #stopped: StopReason | undefined;
  #whenStopped: () => void = () => {};
  readonly #stopping = new Promise<void>((resolve) => {
    this.#whenStopped = resolve;
  });

  constructor(options: ChunkJournalOptions) {
    this.path = options.place;
    this.#options = options;
    const { groupLines, rate } = options;
    this.#mostLines = Math.min(groupLines, rate?.group ?? groupLines);
  }

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  fate(line: number): Fate {
    const { answered, sent } = this.#options.claim;
    if (answered.has(line)) return { is: 'done' };
    return sent.has(line) ? { is: 'unknown' } : { is: 'new' };
  }

  start(line: number): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(new GivenBack());
    if (this.#slotted.has(line)) return this.#noted(line);
    const { slots, server } = this.#options;
    const wait: Wait = { isOver: false, go: () => {}, giveBack: () => {} };
    const isTaken = slots.take(server, () => {
      this.#waits.delete(wait);
      if (wait.isOver) return slots.release(server);
      this.#slotted.add(line);
      wait.go(this.#noted(line));
    });
    if (isTaken) {
      this.#slotted.add(line);
      return this.#noted(line);
    }
    this.#waits.add(wait);
    return new Promise((resolve, reject) => {
      wait.go = resolve;
      wait.giveBack = () => reject(new GivenBack());
    });
  }

  unsent(line: number, { code }: BulkheadError): boolean {
    if (this.#stopped === undefined) {
      if (!this.#options.givesBack || !UNUSABLE.has(code)) return false;
      this.stop('unusable');
    }
    this.unsentLines.push(line);
    return true;
  }

  ended(line: number): void {
    const { slots, server } = this.#options;
    if (this.#slotted.delete(line)) slots.release(server);
  }

  /** What the ledger said about the chunk and its batch. */
  told(standing: Standing, unreadBytes: number): void {
    this.#options.batch.unreadBytes = unreadBytes;
    if (standing !== 'owner') this.stop(standing);
  }

  /** Nothing more is sent; lines that were to be are given back. */
  stop(reason: StopReason): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    this.#whenStopped();
    for (const wait of this.#waits) {
      wait.isOver = true;
      wait.giveBack();
    }
    this.#waits.clear();
    this.#options.onStop(reason);
    this.#options.bell.ring();
  }

  /** The chunk's run is over. */
  close(): void {
    for (const line of [...this.#slotted]) this.ended(line);
  }

  /** One promise for all lines of a step: with one for each, they would cost more than the step. */
  #noted(line: number): Promise<void> {
    let group = this.#groups.at(-1);
    if (group === undefined || group.lines.length >= this.#mostLines) {
      group = newGroup();
      this.#groups.push(group);
    }
    group.lines.push(line);
    if (!this.#isNoting) {
      this.#isNoting = true;
      // Answers come many in one turn of the loop, and each starts a line: a microtask would see the first alone.
      setImmediate(() => void this.#note());
    }
    return group.end;
  }

  async #note(): Promise<void> {
    for (let group = this.#groups.shift(); group !== undefined; group = this.#groups.shift()) {
      if (await this.#mayGo(group.lines)) group.go();
      else group.giveBack();
    }
    this.#isNoting = false;
  }

  async #mayGo(lines: readonly number[]): Promise<boolean> {
    const { ledger, batch, chunk, owner, retryMs } = this.#options;
    while (this.#stopped === undefined) {
      try {
        if (!(await this.#isFree(lines.length))) continue;
        const standing = await ledger.markSent(batch.id, chunk, owner, lines);
        if (standing === 'owner') return true;
        this.stop(standing);
      } catch {
        // What cannot be noted is not sent: the store is full, or read-only for a while.
        await this.#pause(retryMs);
      }
    }
    return false;
  }

  /** False: look again. */
  async #isFree(count: number): Promise<boolean> {
    const { ledger, batch, places, rate, waitsInPlace, bell } = this.#options;
    if (batch.state === 'cancelled') this.stop('cancelled');
    else if (isUnread(batch) && !waitsInPlace) this.stop('unread');
    else if (isUnread(batch) || (places !== undefined && places.held < places.granted)) await bell.next;
    else if (rate !== undefined) {
      const waitMs = await ledger.permits(rate.name, count, rate.perSecond);
      if (waitMs > 0) await this.#pause(waitMs);
      return waitMs === 0;
    } else return true;
    return false;
  }

  /** Cut short by a stop. */
  async #pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const elapsed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([elapsed, this.#stopping]);
    clearTimeout(timer);
  }
}

function newGroup(): Group {
  let go: Group['go'] = () => {};
  let giveBack: Group['giveBack'] = () => {};
  const end = new Promise<void>((resolve, reject) => {
    go = resolve;
    giveBack = () => reject(new GivenBack());
  });
  return { lines: [], end, go, giveBack };
}
