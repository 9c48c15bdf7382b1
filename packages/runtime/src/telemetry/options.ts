/** What an embedder may say about traces and metrics, with the defaults. Of the API only types: it is loaded when it is used. */
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';

/** Where traces and metrics go, and how many. */
export interface TelemetryOptions {
  /** Where spans go; false: none. Default: the provider that is registered globally in this thread, if any. */
  tracerProvider?: TracerProvider | false;
  /** Where metrics go; false: none. Default: the provider that is registered globally in this thread, if any. */
  meterProvider?: MeterProvider | false;
  /**
   * Servers are told which span they work for: `traceparent` and `tracestate` in the `_meta` of every call and request,
   * in both eras of the protocol. Never baggage, which may hold what a server should not know. Default true.
   */
  propagate?: boolean;
  /**
   * Share of the calls without a parent span that get one, 0 to 1; a call within a span is always handed to the tracer.
   * Decided before the tracer's own sampler, which costs nearly as much for a call that it leaves out. Default 1.
   */
  ratio?: number;
  /**
   * About how many calls without a parent span get one each second in a thread at most, evenly spaced, 1 or more. A span
   * costs an SDK as much as the whole call costs here, so that without a limit a busy loop would pay twice. Default 2 000.
   */
  spansPerSecond?: number;
  /**
   * About how many durations of calls a thread records each second at most, evenly spaced, 1 or more. Above it the
   * histogram shows shares but not numbers; `bulkhead.calls` always counts every call. Default 5 000.
   */
  durationsPerSecond?: number;
}

export const telemetryDefaults = {
  propagate: true,
  ratio: 1,
  spansPerSecond: 2_000,
  durationsPerSecond: 5_000,
} as const;

/**
 * `auto`: on for what has a global provider when the runtime is made, so register the SDK first. `false`: off, and nothing
 * of it is loaded.
 */
export type TelemetrySetting = 'auto' | false | TelemetryOptions;
