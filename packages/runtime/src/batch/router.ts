/**
 * Where a line goes: into the lane of its server, among the lines whose server is not known yet, or to its end with
 * the reason why there is no server for it.
 */
import { BulkheadError, type ErrorCode, serverDefaults } from '@bulkhead/workers';
import type { BatchRuntime, BatchServer } from './options.js';
import type { BatchCall } from './record.js';
import type { LineHead } from './reply.js';
import { Scheduler } from './schedule.js';
import { ServerDesk, type Standing } from './servers.js';

/** A line on its way from input to output. */
export interface Item {
  /** Counts the lines that get an output line, from 0. */
  seq: number;
  head: LineHead;
  call: BatchCall;
  readAt: number;
  bytes: number;
  /** How often its call was started. */
  starts: number;
}

export interface RouterOptions {
  runtime: BatchRuntime;
  slots: number;
  connectTimeoutMs: number | undefined;
  windows: ReadonlyMap<string, number>;
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
  /** By full name. */
  readonly #unresolved = new Map<string, Item[]>();
  #unresolvedCount = 0;
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
    return this.#scheduler.waiting + this.#unresolvedCount;
  }

  get noneStarted(): boolean {
    return this.#desk.noneStarted;
  }

  close(): void {
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
      this.#lanes.add(server);
      this.#scheduler.addLane(server, this.#options.windows.get(server) ?? serverDefaults.window);
      this.#scheduler.setOpen(server, standing.is === 'open');
    }
    this.#scheduler.push(server, item);
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
    return { item, view: standing.view };
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
      this.#scheduler.setOpen(server, standing.is === 'open');
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

  #expectMore(): void {
    if (this.#inputEnded) this.#scheduler.moreMayCome = this.#unresolvedCount > 0;
  }
}
