/** OpenTelemetry in the test's own process: what was started, what ended, what was measured, and whose context is active. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
} from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  type ReadableSpan,
  type Sampler,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll } from 'vitest';

/** A tracer provider that keeps its spans. */
export class Spans implements SpanProcessor {
  readonly provider: BasicTracerProvider;
  readonly ended: ReadableSpan[] = [];
  started = 0;

  constructor(sampler?: Sampler) {
    this.provider = new BasicTracerProvider({
      spanProcessors: [this],
      ...(sampler !== undefined && { sampler }),
    });
  }

  /** Ended spans of that name, in the order in which they ended. */
  named(name: string): ReadableSpan[] {
    return this.ended.filter((span) => span.name === name);
  }

  onStart(): void {
    this.started++;
  }
  onEnd(span: ReadableSpan): void {
    this.ended.push(span);
  }
  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

/** A meter provider that is read when the test wants to. */
export class Metrics {
  readonly #exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly #reader = new PeriodicExportingMetricReader({
    exporter: this.#exporter,
    exportIntervalMillis: 3_600_000,
  });
  readonly provider = new MeterProvider({ readers: [this.#reader] });

  /** Data points of one instrument as they stand now; empty when there is no such instrument. */
  async points(name: string): Promise<DataPoint<number | Histogram>[]> {
    this.#exporter.reset();
    await this.#reader.forceFlush();
    const scopes = this.#exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    const found = scopes.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === name);
    return (found?.dataPoints ?? []) as DataPoint<number | Histogram>[];
  }

  /** The value of the one point with these attributes; undefined when there is none. */
  async value(name: string, attributes: Attributes): Promise<number | Histogram | undefined> {
    const points = await this.points(name);
    return points.find((point) =>
      Object.entries(attributes).every(([key, value]) => point.attributes[key] === value),
    )?.value;
  }

  close(): Promise<void> {
    return this.provider.shutdown();
  }
}

/** Lets `context.with()` reach through awaits, as an SDK for Node does, in all tests of the file. */
export function useContexts(): void {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => work.apply(self as never, args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  beforeAll(() => {
    context.setGlobalContextManager(manager);
  });
  afterAll(() => {
    context.disable();
  });
}
