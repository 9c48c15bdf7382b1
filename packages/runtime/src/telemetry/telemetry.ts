/**
 * Telemetry of one agent thread: who gets its spans and its metrics, and what is known of servers. Made only where
 * somebody listens; see `open.ts`.
 */
import type { SupervisorNotice } from '@bulkhead/workers';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { PendingCall } from '../call.js';
import type { CallGate } from '../gate.js';
import type { ServerRef } from '../server-ref.js';
import type { ServerFacts } from './attributes.js';
import { CallTelemetry } from './calls.js';
import { Pace } from './pace.js';
import { RuntimeMetrics } from './runtime-metrics.js';
import { ServerLives } from './server-lives.js';
import { WatchedGate } from './watched-gate.js';

/** The instrumentation scope. */
const SCOPE = '@bulkhead/runtime';
/** Of the conventions for MCP. */
const DURATION_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

export interface TelemetryInit {
  tracerProvider: TracerProvider | undefined;
  meterProvider: MeterProvider | undefined;
  propagate: boolean;
  ratio: number;
  spansPerSecond: number;
  durationsPerSecond: number;
  /** The thread that owns the runtime; lives of servers and their processes are told of there alone. */
  owner: boolean;
}

/** What it looks at in the runtime that it belongs to. */
export interface Watched {
  refs: ReadonlyMap<string, ServerRef>;
  /** Undefined where it is not known. */
  transport: (server: string) => 'pipe' | 'tcp' | undefined;
}

export class Telemetry {
  readonly #calls: CallTelemetry;
  readonly #lives: ServerLives | undefined;
  readonly #metrics: RuntimeMetrics | undefined;
  readonly #watched: Watched;
  readonly #protocols = new Map<string, string>();

  constructor(init: TelemetryInit, watched: Watched) {
    const { tracerProvider, meterProvider, propagate, ratio, owner } = init;
    this.#watched = watched;
    const tracer = tracerProvider?.getTracer(SCOPE);
    const meter = meterProvider?.getMeter(SCOPE);
    const seconds = (name: string, description: string) =>
      meter?.createHistogram(name, {
        unit: 's',
        description,
        advice: { explicitBucketBoundaries: DURATION_SECONDS },
      });
    const facts = (server: string) => this.#facts(server);
    const histogram = seconds(
      'mcp.client.operation.duration',
      'Of calls and requests, from the caller and back.',
    );
    const durations = histogram && { histogram, pace: new Pace(init.durationsPerSecond) };
    this.#calls = new CallTelemetry({
      tracer,
      durations,
      propagate,
      ratio,
      pace: new Pace(init.spansPerSecond),
      random: Math.random,
      facts,
    });
    if (owner) {
      const sessions = seconds(
        'mcp.client.session.duration',
        'Of sessions with servers, from ready to their end.',
      );
      this.#lives = new ServerLives(tracer, sessions, facts);
    }
    if (meter !== undefined) {
      this.#metrics = new RuntimeMetrics(meter, {
        servers: () => watched.refs.values(),
        owner,
        starts: () => this.#lives?.starts ?? new Map(),
      });
    }
  }

  /** See {@link CallTelemetry.begin}. */
  begin(call: PendingCall, params?: Readonly<Record<string, unknown>>): void {
    this.#calls.begin(call, params);
  }

  /** The same gate, whose refusals are seen. */
  gate(gate: CallGate): CallGate {
    return new WatchedGate(gate, (call, error) => this.#calls.refused(call, error));
  }

  heard(notice: SupervisorNotice): void {
    try {
      if (notice.type === 'state') {
        this.#lives?.moved(notice);
      } else if (notice.type === 'catalog' && !notice.cached) {
        const { server, catalog } = notice;
        if (this.#protocols.get(server) === catalog.protocolVersion) return;
        this.#protocols.set(server, catalog.protocolVersion);
        this.#calls.forget(server);
      }
    } catch {
      // a provider that fails must not keep the runtime from hearing
    }
  }

  supervisorLost(): void {
    this.#lives?.over('supervisor_lost');
  }

  /** Ends what is open. What was exported is the provider's, which stays open. */
  close(): void {
    this.#lives?.over(undefined);
    this.#metrics?.close();
  }

  #facts(server: string): ServerFacts {
    const transport = this.#watched.transport(server);
    const protocolVersion = this.#protocols.get(server);
    return {
      ...(transport !== undefined && { transport }),
      ...(protocolVersion !== undefined && { protocolVersion }),
    };
  }
}
