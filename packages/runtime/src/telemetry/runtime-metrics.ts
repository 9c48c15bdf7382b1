/**
 * Metrics that are read off when somebody collects: what the runtime counts anyway costs no call anything. One callback
 * for all of them. An SDK tells the last value of what is observed no more for ever, so what is gone is told once as 0.
 */
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type ServerState, serverStates } from '@bulkhead/workers';
import type { Attributes, BatchObservableResult, Meter, Observable } from '@opentelemetry/api';
import { residentMemory } from '../control/memory.js';
import type { ServerRef } from '../server-ref.js';
import { attribute } from './attributes.js';
import type { ServerStarts } from './server-lives.js';

/** What is watched. */
export interface MetricsSource {
  servers: () => Iterable<ServerRef>;
  /** Only the thread that owns the runtime tells of processes. */
  owner: boolean;
  starts: () => ReadonlyMap<string, Readonly<ServerStarts>>;
}

/** What is told of each server. */
interface Of {
  told: (result: BatchObservableResult, ref: ServerRef) => void;
  gone: (result: BatchObservableResult, name: string) => void;
}

const LOOP_RESOLUTION_MS = 20;
const NS = 1e9;

export class RuntimeMetrics {
  readonly #meter: Meter;
  readonly #source: MetricsSource;
  readonly #delay: IntervalHistogram;
  readonly #observed: Observable[] = [];
  readonly #observe: (result: BatchObservableResult) => Promise<void>;
  /** Servers that were told of. */
  readonly #told = new Set<string>();
  #closed = false;
  #utilization = performance.eventLoopUtilization();

  constructor(meter: Meter, source: MetricsSource) {
    this.#meter = meter;
    this.#source = source;
    this.#delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
    this.#delay.enable();
    const calls = this.#calls();
    const loop = this.#loop();
    const owned = source.owner ? this.#owned() : undefined;
    this.#observe = async (result) => {
      const refs = this.#closed ? [] : [...source.servers()];
      for (const ref of refs) {
        this.#told.add(ref.name);
        calls.told(result, ref);
        owned?.told(result, ref);
      }
      const names = new Set(refs.map(({ name }) => name));
      for (const name of this.#told) {
        if (names.has(name)) continue;
        this.#told.delete(name);
        calls.gone(result, name);
        owned?.gone(result, name);
      }
      if (!this.#closed) loop(result);
      await owned?.rest(result, refs);
      if (this.#closed) await this.#leave();
    };
    meter.addBatchObservableCallback(this.#observe, this.#observed);
  }

  /** The next collection is the last. */
  close(): void {
    this.#closed = true;
    this.#delay.disable();
  }

  async #leave(): Promise<void> {
    await undefined; // the SDK is still going through its list of callbacks
    this.#meter.removeBatchObservableCallback(this.#observe, this.#observed);
  }

  #counter(name: string, unit: string, description: string): Observable {
    return this.#known(this.#meter.createObservableCounter(name, { unit, description }));
  }

  /** What can be added up over servers. */
  #level(name: string, unit: string, description: string): Observable {
    return this.#known(this.#meter.createObservableUpDownCounter(name, { unit, description }));
  }

  #gauge(name: string, unit: string, description: string): Observable {
    return this.#known(this.#meter.createObservableGauge(name, { unit, description }));
  }

  #known(observable: Observable): Observable {
    this.#observed.push(observable);
    return observable;
  }

  #calls(): Of {
    const ended = this.#counter('bulkhead.calls', '{call}', 'Ended calls and other requests, by outcome.');
    const inFlight = this.#level('bulkhead.calls.in_flight', '{call}', 'Calls handed to a server thread.');
    const queued = this.#level(
      'bulkhead.calls.queued',
      '{call}',
      'Calls that wait in the mailbox of a server.',
    );
    const open = this.#gauge(
      'bulkhead.breaker.open',
      '1',
      '1 while the circuit breaker of a server refuses calls, 0.5 while one call finds out, else 0.',
    );
    return {
      told(result, ref) {
        const server: Attributes = { [attribute.server]: ref.name };
        const stats = ref.stats();
        for (const [outcome, count] of Object.entries(stats.outcomes)) {
          result.observe(ended, count, { ...server, [attribute.outcome]: outcome });
        }
        result.observe(inFlight, stats.inFlight, server);
        result.observe(queued, stats.queued, server);
        result.observe(open, BREAKER[ref.breaker], server);
      },
      gone(result, name) {
        for (const level of [inFlight, queued, open]) result.observe(level, 0, { [attribute.server]: name });
      },
    };
  }

  #loop(): (result: BatchObservableResult) => void {
    const delays = (['mean', 'max', 'p50', 'p99'] as const).map((figure) => {
      const name = `nodejs.eventloop.delay.${figure}`;
      return [figure, this.#gauge(name, 's', `Delay of this thread's event loop, ${figure}.`)] as const;
    });
    const utilization = this.#gauge(
      'nodejs.eventloop.utilization',
      '1',
      "Share of time that this thread's event loop was busy, since the last look.",
    );
    return (result) => {
      const { mean, max } = this.#delay;
      const figures = { mean, max, p50: this.#delay.percentile(50), p99: this.#delay.percentile(99) };
      // Its values include the interval of the timer that measures.
      const base = LOOP_RESOLUTION_MS / 1_000;
      for (const [figure, gauge] of delays) {
        if (Number.isFinite(figures[figure])) {
          result.observe(gauge, Math.max(0, figures[figure] / NS - base));
        }
      }
      this.#delay.reset();
      const before = this.#utilization;
      this.#utilization = performance.eventLoopUtilization();
      result.observe(utilization, performance.eventLoopUtilization(this.#utilization, before).utilization);
    };
  }

  #owned(): Of & { rest: (result: BatchObservableResult, refs: readonly ServerRef[]) => Promise<void> } {
    const starts = this.#counter(
      'bulkhead.server.starts',
      '{start}',
      'Starts of a server, the first one included.',
    );
    const restarts = this.#counter(
      'bulkhead.server.restarts',
      '{start}',
      'Starts of a server after the first one.',
    );
    const state = this.#gauge(
      'bulkhead.server.state',
      '1',
      '1 for the state that a server is in, 0 for the others.',
    );
    const memory = this.#level('bulkhead.server.memory', 'By', "Resident memory of a server's process.");
    const host = this.#level('process.memory.usage', 'By', 'Resident memory of this process, all threads.');
    const io = this.#counter('bulkhead.server.io', 'By', 'Bytes from a server and to it, by direction.');
    const delay = this.#gauge(
      'bulkhead.server.loop.delay',
      's',
      "How late the last heartbeat of a server's thread was.",
    );
    const states = (result: BatchObservableResult, server: string, current: ServerState | undefined) => {
      for (const one of serverStates) {
        const attributes = { [attribute.server]: server, [attribute.state]: one };
        result.observe(state, one === current ? 1 : 0, attributes);
      }
    };
    return {
      told(result, ref) {
        states(result, ref.name, ref.state);
        const { receivedBytes, sentBytes, loopDelayMs } = ref.onBoard() ?? {};
        if (receivedBytes === undefined || sentBytes === undefined || loopDelayMs === undefined) return;
        const server = { [attribute.server]: ref.name };
        result.observe(io, receivedBytes, { ...server, [attribute.direction]: 'receive' });
        result.observe(io, sentBytes, { ...server, [attribute.direction]: 'transmit' });
        result.observe(delay, loopDelayMs / 1_000, server);
      },
      gone(result, name) {
        states(result, name, undefined);
        for (const level of [memory, delay]) result.observe(level, 0, { [attribute.server]: name });
      },
      rest: async (result, refs) => {
        for (const [name, counted] of this.#source.starts()) {
          result.observe(starts, counted.starts, { [attribute.server]: name });
          result.observe(restarts, counted.restarts, { [attribute.server]: name });
        }
        result.observe(host, process.memoryUsage.rss());
        const pids = new Map(refs.map((ref) => [ref.name, ref.onBoard()?.pid ?? 0]));
        const resident = await residentMemory([...pids.values()].filter((pid) => pid !== 0));
        for (const [name, pid] of pids) {
          result.observe(memory, resident.get(pid) ?? 0, { [attribute.server]: name });
        }
      },
    };
  }
}

const BREAKER = { closed: 0, 'half-open': 0.5, open: 1 } as const;
