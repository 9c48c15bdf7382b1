/**
 * Where a line goes: into the lane of its server, among the lines whose server is not known yet, or to its end with
 * the reason why there is no server for it.
 */
import { BulkheadError, type ErrorCode, serverDefaults } from '@bulkhead/workers';
import type { BatchRuntime, BatchServer } from './options.js';
import { TokenBucket } from './rate.js';
import type { BatchCall } from './record.js';
import type { LineHead } from './reply.js';
import { Scheduler } from './schedule.js';
import { ServerDesk, type Standing } from './servers.js';
import { Turns } from './turns.js';

/** A line on its way from input to output. */
export interface Item {
  /** Counts the lines that get an output line, from 0. */
  seq: number;
  head: LineHead;
  call: BatchCall;
  readAt: number;
  bytes: number;
  /** How often its call was started in this try. */
  starts: number;
  /** Tries after the first. */
  retries: number;
  /** How often its call was handed to a server in tries that are over. */
  attempts: number;
  /** Writes how the last try ended; set between two tries, for when no further one comes about. */
  lastEnd: (() => void) | undefined;
}

export interface RouterOptions {
  runtime: BatchRuntime;
  slots: number;
  connectTimeoutMs: number | undefined;
  windows: ReadonlyMap<string, number>;
  /** Calls a second, by server; `*` is every other one. */
  rates: ReadonlyMap<string, number>;
  unavailable: ReadonlyMap<string, { code: ErrorCode; message: string }>;
  /** Ends a line whose call will never start. */
  refuse: (item: Item, error: BulkheadError) => void;
  /** Something may be startable now. */
  onChange: () => void;
}

export class Router {
  readonly #options: RouterOptions;
  readonly #scheduler: Scheduler<Item>;
  readonly #desk: ServerDesk;
  readonly #lanes = new Set<string>();
  readonly #turns = new Turns<Item>((item) => this.#admit(item));
  /** By full name. */
  readonly #unresolved = new Map<string, Item[]>();
  #unresolvedCount = 0;
  /** Of lanes with a rate, and the timer of those that wait for their next token. */
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #throttled = new Map<string, NodeJS.Timeout>();
  #inputEnded = false;

  constructor(options: RouterOptions) {
    const { runtime, slots, connectTimeoutMs, unavailable } = options;
    this.#options = options;
    this.#scheduler = new Scheduler(slots);
    this.#scheduler.moreMayCome = runtime.servers().length > 1;
    this.#desk = new ServerDesk({
      runtime,
      connectTimeoutMs,
      unavailable,
      onChange: (server, standing) => this.#serverChanged(server, standing),
    });
  }

  get inFlight(): number {
    return this.#scheduler.inFlight;
  }

  /** Lines that are routed but not started. */
  get waiting(): number {
    return this.#scheduler.waiting + this.#turns.waiting + this.#unresolvedCount;
  }

  get noneStarted(): boolean {
    return this.#desk.noneStarted;
  }

  close(): void {
    for (const timer of this.#throttled.values()) clearTimeout(timer);
    this.#desk.close();
  }

  /** No line comes any more: slots need not be kept for servers that no line has named. */
  inputEnded(): void {
    this.#inputEnded = true;
    this.#expectMore();
  }

  route(item: Item): void {
    if (item.head.server === undefined && !this.#resolve(item)) return;
    const server = item.head.server ?? '';
    const standing = this.#desk.standing(server);
    if (standing.is === 'shut') {
      this.#options.refuse(item, new BulkheadError(standing.code, standing.message));
      return;
    }
    if (!this.#lanes.has(server)) {
      const { windows, rates } = this.#options;
      this.#lanes.add(server);
      this.#scheduler.addLane(server, windows.get(server) ?? serverDefaults.window);
      const rate = rates.get(server) ?? rates.get('*');
      if (rate !== undefined) this.#buckets.set(server, new TokenBucket(rate, performance.now()));
      this.#scheduler.setOpen(server, standing.is === 'open');
    }
    const { affinity } = item.call;
    if (affinity === undefined || this.#turns.take(server, affinity, item))
      this.#scheduler.push(server, item);
  }

  /** The line has its output line: the next one with its affinity may start. */
  ended({ head, call }: Item): void {
    if (call.affinity !== undefined && head.server !== undefined)
      this.#turns.pass(head.server, call.affinity);
  }

  /** The turn of a line that waited for one with the same affinity: it stood before all that wait in the lane. */
  #admit(item: Item): void {
    const server = item.head.server ?? '';
    const standing = this.#desk.standing(server);
    if (standing.is === 'shut')
      this.#options.refuse(item, new BulkheadError(standing.code, standing.message));
    else this.#scheduler.unshift(server, item);
  }

  /** The next line to start, counted as in flight from now on; with `onlySeq` that line or none. */
  next(onlySeq?: number): { item: Item; view: BatchServer } | undefined {
    const item =
      onlySeq === undefined ? this.#scheduler.next() : this.#scheduler.nextIf(({ seq }) => seq === onlySeq);
    if (item === undefined) return undefined;
    const standing = this.#desk.standing(item.head.server ?? '');
    // Lanes are open only while their server is.
    if (standing.is !== 'open')
      throw new Error(`the lane of "${item.head.server}" is open, its server is not`);
    if (this.#buckets.size > 0) this.#takeToken(item.head.server ?? '');
    return { item, view: standing.view };
  }

  /** Another try of a line whose call has ended: its turn is before lines that were never started. */
  again(item: Item): void {
    this.#admit(item);
  }

  done({ head }: Item): void {
    this.#scheduler.done(head.server ?? '');
  }

  /** The call came back without having reached its server: it waits at the front for the server's return. */
  unsent(item: Item): void {
    const server = item.head.server ?? '';
    this.#scheduler.done(server);
    this.#scheduler.unshift(server, item);
    this.#desk.recheck(server);
  }

  /** False when the line has to wait for a server, or has met its end. */
  #resolve(item: Item): boolean {
    const { tool } = item.call;
    const found = this.#desk.find(tool);
    switch (found.is) {
      case 'tool':
        item.head.server = found.server;
        item.head.tool = found.tool;
        return true;
      case 'waiting': {
        const others = this.#unresolved.get(tool);
        if (others === undefined) this.#unresolved.set(tool, [item]);
        else others.push(item);
        this.#unresolvedCount++;
        return false;
      }
      case 'nothing':
        item.head.server = found.server;
        this.#options.refuse(item, new BulkheadError(found.code, found.message));
        return false;
    }
  }

  #serverChanged(server: string, standing: Standing): void {
    if (this.#lanes.has(server)) {
      this.#scheduler.setOpen(server, standing.is === 'open' && !this.#throttled.has(server));
      if (standing.is === 'shut') {
        const error = new BulkheadError(standing.code, standing.message);
        for (const item of this.#scheduler.drain(server)) this.#options.refuse(item, error);
      }
    }
    if (standing.is !== 'waiting' && this.#unresolvedCount > 0) {
      const items = [...this.#unresolved.values()].flat().sort((a, b) => a.seq - b.seq);
      this.#unresolved.clear();
      this.#unresolvedCount = 0;
      for (const item of items) this.route(item);
    }
    this.#expectMore();
    this.#options.onChange();
  }

  /** Takes out the lines that wait for another try. */
  takeRetried(): Item[] {
    return this.#scheduler.takeIf((item) => item.lastEnd !== undefined);
  }

  #takeToken(server: string): void {
    const waitMs = this.#buckets.get(server)?.take(performance.now()) ?? 0;
    if (waitMs === 0) return;
    this.#scheduler.setOpen(server, false);
    const timer = setTimeout(() => {
      this.#throttled.delete(server);
      this.#scheduler.setOpen(server, this.#desk.standing(server).is === 'open');
      this.#options.onChange();
    }, waitMs);
    this.#throttled.set(server, timer);
  }

  #expectMore(): void {
    if (this.#inputEnded) this.#scheduler.moreMayCome = this.#unresolvedCount > 0;
  }
}
