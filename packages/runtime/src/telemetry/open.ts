/**
 * Decides whether there is telemetry. Off costs nothing: OpenTelemetry's API, which takes some 20 ms to load, is loaded
 * only when a provider is registered or given.
 */
import { BulkheadError } from '@bulkhead/workers';
import { type TelemetryOptions, type TelemetrySetting, telemetryDefaults } from './options.js';
import type { Telemetry, TelemetryInit, Watched } from './telemetry.js';

/** Makes the telemetry of a runtime once that stands. */
export type MakeTelemetry = (watched: Watched) => Telemetry;

/** Where every copy of the API's first major keeps what is registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/**
 * Undefined when nobody listens.
 * @throws {BulkheadError} `BAD_CONFIG` when what was given is no provider, or a number out of range.
 */
export async function openTelemetry(
  setting: TelemetrySetting = 'auto',
  { owner }: { owner: boolean },
): Promise<MakeTelemetry | undefined> {
  if (setting === false) return undefined;
  const given: TelemetryOptions = setting === 'auto' ? {} : setting;
  const { propagate, ratio, spansPerSecond, durationsPerSecond } = { ...telemetryDefaults, ...given };
  within('ratio', ratio, 0, 1);
  within('spansPerSecond', spansPerSecond, 1, Number.POSITIVE_INFINITY);
  within('durationsPerSecond', durationsPerSecond, 1, Number.POSITIVE_INFINITY);
  const registered = registeredProviders();
  const init: TelemetryInit = {
    tracerProvider: provider('tracerProvider', given.tracerProvider, registered.trace, 'getTracer'),
    meterProvider: provider('meterProvider', given.meterProvider, registered.metrics, 'getMeter'),
    propagate,
    ratio,
    spansPerSecond,
    durationsPerSecond,
    owner,
  };
  if (init.tracerProvider === undefined && init.meterProvider === undefined) return undefined;
  const { Telemetry } = await import('./telemetry.js');
  return (watched) => new Telemetry(init, watched);
}

function registeredProviders(): { trace?: unknown; metrics?: unknown } {
  return (globalThis as { [REGISTERED]?: { trace?: unknown; metrics?: unknown } })[REGISTERED] ?? {};
}

function provider<T extends object>(
  name: keyof TelemetryOptions,
  given: T | false | undefined,
  registered: unknown,
  method: keyof T & string,
): T | undefined {
  const chosen = given ?? registered;
  if (chosen === undefined || chosen === false) return undefined;
  if (typeof chosen === 'object' && chosen !== null && method in chosen) return chosen as T;
  throw new BulkheadError(
    'BAD_CONFIG',
    `expected telemetry.${name} to be an OpenTelemetry provider (with ${method}()) or false, got ${typeof chosen}`,
  );
}

function within(name: keyof TelemetryOptions, value: number, low: number, high: number): void {
  if (typeof value === 'number' && value >= low && value <= high) return;
  throw new BulkheadError(
    'BAD_CONFIG',
    `expected telemetry.${name} to be a number from ${low} to ${high}, got ${value}`,
  );
}
