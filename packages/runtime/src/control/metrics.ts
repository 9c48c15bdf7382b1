/** What the status knows in the text format of Prometheus (version 0.0.4). Pure. */
import { serverStates } from '@bulkhead/workers';
import type { ServerRow, StatusReport } from './protocol.js';

type Sample = [labels: Record<string, string>, value: number];

export function metricsText({ health, servers }: StatusReport): string {
  const each = (of: (row: ServerRow) => Sample[]) => servers.flatMap(of);
  const one = (of: (row: ServerRow) => number | undefined) =>
    each((row) => {
      const value = of(row);
      return value === undefined ? [] : [[{ server: row.name }, value]];
    });
  return [
    metric('bulkhead_uptime_seconds', 'gauge', 'Since the runtime started.', [[{}, health.uptimeMs / 1_000]]),
    metric(
      'bulkhead_calls_total',
      'counter',
      'Ended calls by outcome.',
      each(({ name, stats }) =>
        Object.entries(stats.outcomes).map(([outcome, count]) => [{ server: name, outcome }, count]),
      ),
    ),
    metric(
      'bulkhead_calls_in_flight',
      'gauge',
      'Calls handed to a server.',
      one(({ stats }) => stats.inFlight),
    ),
    metric(
      'bulkhead_calls_queued',
      'gauge',
      'Calls waiting for a server.',
      one(({ stats }) => stats.queued),
    ),
    metric(
      'bulkhead_call_duration_seconds',
      'summary',
      'Latency of answered calls.',
      each(({ name, stats: { latency } }) =>
        latency === undefined
          ? []
          : ([
              [{ server: name, quantile: '0.5' }, latency.p50 / 1_000],
              [{ server: name, quantile: '0.95' }, latency.p95 / 1_000],
              [{ server: name, quantile: '0.99' }, latency.p99 / 1_000],
            ] satisfies Sample[]),
      ),
    ),
    metric(
      'bulkhead_server_restarts_total',
      'counter',
      'Restarts of a server.',
      one(({ restarts }) => restarts),
    ),
    metric(
      'bulkhead_server_tools',
      'gauge',
      'Tools that a server offers.',
      one(({ tools }) => tools),
    ),
    metric(
      'bulkhead_server_resident_bytes',
      'gauge',
      'Memory of its process.',
      one(({ rssBytes }) => rssBytes),
    ),
    metric(
      'bulkhead_server_state',
      'gauge',
      '1 for the state that a server is in.',
      each(({ name, state }) =>
        serverStates.map((one) => [{ server: name, state: one }, one === state ? 1 : 0]),
      ),
    ),
  ].join('');
}

function metric(name: string, type: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => {
    const inner = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${name}${inner.length === 0 ? '' : `{${inner.join(',')}}`} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
