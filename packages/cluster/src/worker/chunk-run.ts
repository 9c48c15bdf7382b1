/**
 * One taking of a chunk: claims it in the ledger, runs the lines that have no result as a batch of the runtime, and gives
 * back what was not run. Whatever happens here, a line is sent only while the ledger calls this taking the chunk's owner.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type BatchRuntime, type InputLine, runBatch } from '@bulkhead/runtime';
import { MAX_TIMER_MS } from '@bulkhead/workers';
import type { Chunk } from '../chunk.js';
import type { ClusterLimits } from '../defaults.js';
import type { Claim, Ledger } from '../ledger.js';
import { settleChunk } from '../settle.js';
import { type BatchWatch, isUnread, type WatchedBatch } from './batch-watch.js';
import type { Bell } from './bell.js';
import { ChunkJournal, type StopReason } from './chunk-journal.js';
import { type FleetPlaces, type Places, rateOf, settingOf } from './fleet-limits.js';
import { ResultSink } from './result-sink.js';
import type { Slots } from './slots.js';

/** `done`: every line has its result, or the batch is gone. `again`: not all were run. `lost`: it is another worker's. */
export type RunEnd = { is: 'done' } | { is: 'again'; why: StopReason | 'places' } | { is: 'lost' };

export interface ChunkRunOptions {
  runtime: BatchRuntime;
  ledger: Ledger;
  place: string;
  watch: BatchWatch;
  bell: Bell;
  slots: Slots;
  places: FleetPlaces;
  limits: ClusterLimits;
  /** Of the chunk's queue. */
  server: string;
  isShard: boolean;
  /** No worker can use the server, for long enough: lines end with this reason. */
  refusal: string | undefined;
  /** Lines whose server cannot be used here are left to another worker. */
  givesBack: boolean;
  /** Calls in flight of this server at this worker. */
  window: number;
  /** A fair share of places over the fleet: its limit divided by the workers that have the server. */
  fairShare: (limit: number) => number;
  /** Unique per taking. */
  owner: string;
  /** The worker cannot wait any longer. */
  giveUp: AbortSignal;
  /** A line has its result. */
  onLine: () => void;
  /** Calls are about to be sent. */
  onStart: () => void;
}

export class ChunkRun {
  readonly #options: ChunkRunOptions;
  /** Id of the chunk's job. */
  readonly job: string;
  readonly #chunk: Chunk;
  readonly #halt = new AbortController();
  readonly #cut = new AbortController();
  #journal: ChunkJournal | undefined;
  /** Asked for before there was a journal. */
  #early: StopReason | undefined;

  constructor(job: string, chunk: Chunk, options: ChunkRunOptions) {
    this.job = job;
    this.#chunk = chunk;
    this.#options = options;
  }

  readonly #onCancelled = (): void => this.stop('cancelled');

  /** No further line is sent; calls in flight end by themselves. */
  stop(reason: StopReason): void {
    this.#early ??= reason;
    this.#journal?.stop(reason);
    this.#options.bell.ring();
  }

  /** Calls in flight end now, as `cancelled`. */
  cut(): void {
    this.#cut.abort();
  }

  async run(): Promise<RunEnd> {
    const batch = await this.#persist(() => this.#options.watch.take(this.#chunk.batch, this.#onCancelled));
    if (batch === undefined) return { is: 'done' };
    try {
      return await this.#claimed(batch);
    } finally {
      this.#options.watch.drop(batch, this.#onCancelled);
    }
  }

  async #claimed(batch: WatchedBatch): Promise<RunEnd> {
    const { ledger, owner, isShard, bell, giveUp } = this.#options;
    const numbers = this.#chunk.lines.map(([line]) => line);
    const claim = await this.#persist(() => ledger.claim(batch.id, this.job, owner, numbers));
    if (claim.answered.size === numbers.length) return { is: 'done' };
    if (claim.state === 'cancelled') batch.state = 'cancelled';
    const patientUntil = performance.now() + this.#options.limits.placesWaitMs;
    while (!giveUp.aborted) {
      if (batch.state === 'cancelled') return this.#cancelled();
      if (this.#early !== undefined) return this.#ended(this.#early);
      const may = isUnread(batch)
        ? 'unread'
        : await this.#places(batch, numbers.length - claim.answered.size);
      if (typeof may === 'object') return this.#withPlaces(batch, claim, may.places);
      // Without places no other chunk of the server could run either; unread results hold up this batch alone.
      const waits = isShard || (may === 'places' && performance.now() < patientUntil);
      if (!waits) return { is: 'again', why: may };
      await bell.next;
    }
    return { is: 'again', why: 'stopping' };
  }

  async #places({ plan }: WatchedBatch, lines: number): Promise<{ places: Places | undefined } | 'places'> {
    const { server, window, places, owner, fairShare } = this.#options;
    const limit = settingOf(plan.windows, server);
    if (limit === undefined) return { places: undefined };
    const want = Math.min(window, lines, fairShare(limit));
    const taken = await this.#persist(() => places.take(server, owner, { want, limit }));
    return taken === undefined ? 'places' : { places: taken };
  }

  async #withPlaces(batch: WatchedBatch, claim: Claim, places: Places | undefined): Promise<RunEnd> {
    try {
      this.#options.onStart();
      return await this.#run(batch, claim, places);
    } finally {
      // What cannot be released now runs out by itself.
      if (places !== undefined) await this.#options.places.release(places).catch(() => {});
      this.#options.bell.ring();
    }
  }

  async #run(batch: WatchedBatch, claim: Claim, places: Places | undefined): Promise<RunEnd> {
    const { server, window, refusal } = this.#options;
    const { plan } = batch;
    const journal = this.#makeJournal(batch, claim, places);
    const sink = this.#makeSink(batch.id, journal);
    this.#journal = journal;
    if (this.#early !== undefined) journal.stop(this.#early);
    const inFlight = places?.granted ?? window;
    try {
      await runBatch({
        runtime: this.#options.runtime,
        input: this.#input(),
        output: sink,
        concurrency: inFlight,
        windows: new Map([[server, inFlight]]),
        journal,
        idempotencyKey: (line) => `${batch.id}:${line}`,
        signal: this.#halt.signal,
        callSignal: this.#cut.signal,
        limits: { graceMs: MAX_TIMER_MS },
        ...(refusal === undefined
          ? {}
          : { unavailable: new Map([[server, { code: 'NOT_READY' as const, message: refusal }]]) }),
        ...(plan.timeoutMs === undefined ? {} : { timeoutMs: plan.timeoutMs }),
        ...(plan.attempts > 1 ? { retry: { times: plan.attempts - 1 } } : {}),
      });
      await sink.settled();
    } finally {
      journal.close();
      sink.destroy();
    }
    if (this.#options.giveUp.aborted) return { is: 'lost' };
    await this.#unmark(batch.id, journal, claim);
    if (journal.stopped === 'cancelled') return this.#cancelled();
    const isWhole = this.#chunk.lines.every(([line]) => claim.answered.has(line) || sink.seen.has(line));
    return isWhole && journal.stopped !== 'fenced'
      ? { is: 'done' }
      : this.#ended(journal.stopped ?? 'unread');
  }

  /** What was noted and then not sent may be sent by the next owner; what an earlier one sent stays noted. */
  async #unmark(batch: string, { unsentLines }: ChunkJournal, { sent }: Claim): Promise<void> {
    const lines = unsentLines.filter((line) => !sent.has(line));
    if (lines.length === 0) return;
    const { ledger, owner } = this.#options;
    await this.#persist(() => ledger.unmarkSent(batch, this.job, owner, lines));
  }

  #makeJournal(batch: WatchedBatch, claim: Claim, places: Places | undefined): ChunkJournal {
    const { ledger, place, owner, server, slots, bell, limits, isShard, givesBack } = this.#options;
    return new ChunkJournal({
      ledger,
      place,
      batch,
      chunk: this.job,
      owner,
      claim,
      server,
      slots,
      places,
      rate: rateOf(batch.plan, server),
      waitsInPlace: isShard,
      givesBack,
      groupLines: limits.resultLines,
      retryMs: limits.delayMs,
      bell,
      onStop: (reason) => {
        this.#halt.abort();
        if (reason === 'cancelled') this.#cut.abort();
      },
    });
  }

  #makeSink(batch: string, journal: ChunkJournal): ResultSink {
    const { ledger, owner, limits, giveUp, onLine } = this.#options;
    return new ResultSink({
      ledger,
      batch,
      chunk: this.job,
      owner,
      lines: limits.resultLines,
      bytes: limits.resultBytes,
      flushMs: limits.flushMs,
      retryMs: limits.delayMs,
      signal: giveUp,
      onLine,
      onTold: (standing, unreadBytes) => journal.told(standing, unreadBytes),
    });
  }

  async *#input(): AsyncGenerator<InputLine[]> {
    yield this.#chunk.lines.map(([line, text]) => ({ line, text, bytes: text.length + 1 }));
  }

  /** Calls of this taking have ended; what was sent by an earlier one, or not at all, gets its end now. */
  async #cancelled(): Promise<RunEnd> {
    const { ledger } = this.#options;
    await this.#persist(() => settleChunk(ledger, this.job, this.#chunk, { is: 'cancelled' }));
    return { is: 'done' };
  }

  /** A store that is away, or full, is asked again until the worker gives up. */
  async #persist<T>(ask: () => Promise<T>): Promise<T> {
    const { limits, giveUp } = this.#options;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (giveUp.aborted) throw error;
        await sleep(limits.delayMs, undefined, { signal: giveUp }).catch(() => {});
      }
    }
  }

  #ended(why: StopReason): RunEnd {
    return why === 'fenced' ? { is: 'lost' } : { is: 'again', why };
  }
}
