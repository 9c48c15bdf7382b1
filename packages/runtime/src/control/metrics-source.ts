/** What metrics are made of, gathered when somebody asks: the status of the runtime, memory, and this process itself. */
import { readdir } from 'node:fs/promises';
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { LoopFigures } from '@bulkhead/workers';
import type { RuntimeApi } from '../api.js';
import { residentMemory } from './memory.js';
import { type MetricsFacts, metricsText } from './metrics.js';

/** Content type of the text. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const DELAY_RESOLUTION_MS = 20;

export class MetricsSource {
  readonly #runtime: RuntimeApi;
  readonly #startedAt = performance.now();
  /** Its timer runs from the first look on: a runtime that nobody scrapes pays nothing. */
  #delay: IntervalHistogram | undefined;

  constructor(runtime: RuntimeApi) {
    this.#runtime = runtime;
  }

  /** @throws {BulkheadError} when the supervisor does not answer. */
  async text(): Promise<string> {
    const { servers, supervisorLoop } = await this.#runtime.status();
    const memory = await residentMemory(servers.flatMap(({ pid }) => pid ?? []));
    const { user, system } = process.cpuUsage();
    const openFiles = await openFileCount();
    const facts: MetricsFacts = {
      uptimeMs: performance.now() - this.#startedAt,
      servers: servers.map((server) => {
        const residentBytes = server.pid === undefined ? undefined : memory.get(server.pid);
        return { ...server, ...(residentBytes === undefined ? {} : { residentBytes }) };
      }),
      loops: [
        ['main', this.#ownLoop()],
        ...(supervisorLoop === undefined ? [] : [['supervisor', supervisorLoop] as const]),
      ],
      process: {
        cpuSeconds: (user + system) / 1e6,
        residentBytes: process.memoryUsage.rss(),
        startedAtSeconds: performance.timeOrigin / 1_000,
        ...(openFiles === undefined ? {} : { openFiles }),
      },
    };
    return metricsText(facts);
  }

  stop(): void {
    this.#delay?.disable();
  }

  /** The longest delay since the last look. */
  #ownLoop(): LoopFigures {
    const { active, idle } = performance.eventLoopUtilization();
    let delayMs = 0;
    if (this.#delay === undefined) {
      this.#delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
      this.#delay.enable();
    } else {
      // Its values include the interval of the timer that measures.
      delayMs = Math.max(0, this.#delay.max / 1e6 - DELAY_RESOLUTION_MS);
      this.#delay.reset();
    }
    return { activeMs: active, idleMs: idle, delayMs };
  }
}

async function openFileCount(): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  return readdir('/proc/self/fd').then(
    // One of them is the look itself.
    (names) => names.length - 1,
    () => undefined,
  );
}
