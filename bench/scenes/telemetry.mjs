/**
 * What OpenTelemetry costs a call: off, metrics alone, with traces as they are by default (up to 2 000 spans a second), with
 * every call traced, and that with calls that are all made within a span (and a context manager, as an SDK for Node brings
 * one). Exporters throw away what they get:
 * what is measured is the runtime and the SDK, not a network.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { PeerHost } from '../hosts.mjs';
import { figuresOf, load } from '../load.mjs';
import { quietSample } from '../measure.mjs';
import { connect } from '../peers/bulkhead.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'OpenTelemetry: off, metrics, metrics and traces, every call traced; 64 in flight';

const ALL = { spansPerSecond: 1e9 };
const CASES = [
  { name: 'off' },
  { name: 'metrics', metrics: true },
  { name: 'metrics and traces', metrics: true, sampled: 1 },
  { name: 'the same, every call', metrics: true, sampled: 1, telemetry: ALL },
  { name: 'the same, 10 % sampled by the SDK', metrics: true, sampled: 0.1, telemetry: ALL },
  { name: 'the same, all within a span', metrics: true, sampled: 1, contexts: true },
];
const IN_FLIGHT = 64;
const EXPORT_MS = 1_000;

const nowhere = {
  export: (_, done) => done({ code: 0 }),
  forceFlush: async () => {},
  shutdown: async () => {},
};

async function register({ metrics: wantsMetrics, sampled, contexts }) {
  const api = await import('@opentelemetry/api');
  if (wantsMetrics) {
    const { MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
    const reader = new PeriodicExportingMetricReader({ exporter: nowhere, exportIntervalMillis: EXPORT_MS });
    api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  }
  if (sampled !== undefined) {
    const sdk = await import('@opentelemetry/sdk-trace-base');
    const sampler = new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(sampled) });
    const spanProcessors = [new sdk.BatchSpanProcessor(nowhere, { scheduledDelayMillis: EXPORT_MS })];
    api.trace.setGlobalTracerProvider(new sdk.BasicTracerProvider({ sampler, spanProcessors }));
  }
  if (contexts) api.context.setGlobalContextManager(contextManager(api.ROOT_CONTEXT));
}

/** As small as it can be; what it costs is Node's part. */
function contextManager(root) {
  const storage = new AsyncLocalStorage();
  return {
    active: () => storage.getStore() ?? root,
    with: (context, work, self, ...args) => storage.run(context, () => work.apply(self, args)),
    bind: (context, target) => storage.run(context, () => AsyncLocalStorage.bind(target)),
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  };
}

let opened;

/** In a process of its own: what is registered holds for all of it. */
export const tasks = {
  async telemetry(_, { setting, sampleMs }) {
    opened ??= open(setting);
    const { peer, within } = await opened;
    return within(async () => {
      return figuresOf(
        await quietSample(() =>
          load(() => peer.call('echo', 'echo', { text: 'hello' }), {
            inFlight: IN_FLIGHT,
            until: sampleMs,
          }),
        ),
      );
    });
  },
};

async function open(setting) {
  await register(setting);
  const peer = await connect(
    { echo: { args: [ECHO] } },
    {
      awaited: ['echo'],
      onReady: () => {},
      telemetry: setting.telemetry,
    },
  );
  if (!setting.contexts) return { peer, within: (work) => work() };
  const { context, trace } = await import('@opentelemetry/api');
  const tracer = trace.getTracer('bench');
  return {
    peer,
    within: async (work) => {
      const span = tracer.startSpan('load');
      try {
        return await context.with(trace.setSpan(context.active(), span), work);
      } finally {
        span.end();
      }
    },
  };
}

export async function run({ runs, sampleMs }) {
  const hosts = CASES.map((setting) => {
    const host = new PeerHost({ name: 'bulkhead' }, 'telemetry');
    host.setting = setting;
    host.label = { ...host.label, case: setting.name };
    return host;
  });
  const measure = (host) => host.do('telemetry', { setting: host.setting, sampleMs });
  try {
    for (const host of hosts) await measure(host).catch(() => {});
    const rows = await compare({ inFlight: IN_FLIGHT }, hosts, runs, 'callsPerSecond', measure);
    const off = rows[0]?.callsPerSecond;
    return rows.map((row) => ({ ...row, ratioToOff: row.callsPerSecond / off }));
  } finally {
    await Promise.all(hosts.map((host) => host.end()));
  }
}
