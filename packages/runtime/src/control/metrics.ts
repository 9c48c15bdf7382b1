/** What a runtime knows in the text format of Prometheus (version 0.0.4). Labels are names of the configuration only. Pure. */
import { type LoopFigures, serverStates } from '@bulkhead/workers';
import type { RuntimeStatus } from '../api.js';
import { durationBoundsMs } from '../latency.js';
import { type Family, familyText, type Sample } from './metrics-text.js';

/** One server with what its process takes. */
export type MetricsServer = RuntimeStatus['servers'][number] & { residentBytes?: number };

export interface MetricsFacts {
  uptimeMs: number;
  servers: readonly MetricsServer[];
  /** Threads that are no server's, by name. */
  loops: readonly (readonly [thread: string, figures: LoopFigures])[];
  process: { cpuSeconds: number; residentBytes: number; startedAtSeconds: number; openFiles?: number };
}

const breakerStates = ['closed', 'half-open', 'open'] as const;

export function metricsText(facts: MetricsFacts): string {
  return [
    ...callFamilies(facts),
    ...serverFamilies(facts),
    ...threadFamilies(facts),
    ...processFamilies(facts),
  ]
    .map(familyText)
    .join('');
}

function callFamilies({ servers }: MetricsFacts): Family[] {
  return [
    {
      name: 'bulkhead_calls_total',
      type: 'counter',
      help: 'Ended calls and other requests, by outcome.',
      samples: servers.flatMap(({ name, stats }) =>
        Object.entries(stats.outcomes).map(
          ([outcome, count]): Sample => ({
            labels: { server: name, outcome },
            value: count,
          }),
        ),
      ),
    },
    gauge(
      'bulkhead_calls_in_flight',
      'Calls handed to a server.',
      each(servers, ({ stats }) => stats.inFlight),
    ),
    gauge(
      'bulkhead_calls_queued',
      'Calls waiting for a server.',
      each(servers, ({ stats }) => stats.queued),
    ),
    {
      name: 'bulkhead_call_duration_seconds',
      type: 'histogram',
      help: 'Time from the hand-over of a call to its answer.',
      samples: servers.flatMap(durationSamples),
    },
  ];
}

function durationSamples({ name: server, stats: { latency, durations } }: MetricsServer): Sample[] {
  if (latency === undefined || durations === undefined) return [];
  const bucket = (le: string, value: number): Sample => ({
    suffix: '_bucket',
    labels: { server, le },
    value,
  });
  return [
    ...durationBoundsMs.map((boundMs, index) => bucket(String(boundMs / 1_000), durations[index] ?? 0)),
    bucket('+Inf', latency.count),
    { suffix: '_sum', labels: { server }, value: (latency.mean * latency.count) / 1_000 },
    { suffix: '_count', labels: { server }, value: latency.count },
  ];
}

function serverFamilies({ servers }: MetricsFacts): Family[] {
  return [
    gauge(
      'bulkhead_server_state',
      '1 for the state that a server is in, 0 for the others.',
      servers.flatMap(({ name, state }) => oneOf(name, serverStates, state)),
    ),
    gauge(
      'bulkhead_server_breaker_state',
      '1 for the state of the circuit breaker of a server, 0 for the others.',
      servers.flatMap(({ name, stats }) => oneOf(name, breakerStates, stats.breaker ?? 'closed')),
    ),
    gauge(
      'bulkhead_server_tools',
      'Tools that a server offers.',
      each(servers, ({ tools }) => tools),
    ),
    gauge(
      'bulkhead_server_quarantined_tools',
      'Tools of a server that were left out because their definition is no good.',
      each(servers, ({ quarantinedTools }) => quarantinedTools.length),
    ),
    counter(
      'bulkhead_server_spawns_total',
      'Starts of a server, the first one included.',
      each(servers, ({ spawns }) => spawns),
    ),
    counter(
      'bulkhead_server_restarts_total',
      'Starts of a server after the first one.',
      each(servers, ({ restarts }) => restarts),
    ),
    counter(
      'bulkhead_server_received_bytes_total',
      'Bytes that came from a server.',
      each(servers, ({ receivedBytes }) => receivedBytes),
    ),
    counter(
      'bulkhead_server_sent_bytes_total',
      'Bytes that went to a server.',
      each(servers, ({ sentBytes }) => sentBytes),
    ),
    counter(
      'bulkhead_server_skipped_lines_total',
      'Lines on the stdout of a server that were no protocol.',
      each(servers, ({ skippedLines }) => skippedLines),
    ),
    gauge(
      'bulkhead_server_resident_memory_bytes',
      'Resident memory of the process of a server.',
      each(servers, ({ residentBytes }) => residentBytes),
    ),
  ];
}

/** `server` is empty for the threads that are no server's: a label that is there for some only would split the family. */
function threadFamilies({ servers, loops }: MetricsFacts): Family[] {
  const threads = [
    ...loops.map(([thread, figures]) => ({ labels: { thread, server: '' }, figures })),
    ...servers.flatMap(({ name, loop }) =>
      loop === undefined ? [] : [{ labels: { thread: 'server', server: name }, figures: loop }],
    ),
  ];
  const of = (pick: (figures: LoopFigures) => number): Sample[] =>
    threads.map(({ labels, figures }) => ({ labels, value: pick(figures) / 1_000 }));
  return [
    gauge(
      'bulkhead_thread_loop_delay_seconds',
      'How late the event loop of a thread was: the worst since the last look (main), or its last heartbeat.',
      of(({ delayMs }) => delayMs),
    ),
    counter(
      'bulkhead_thread_loop_active_seconds_total',
      'Time that the event loop of a thread spent working.',
      of(({ activeMs }) => activeMs),
    ),
    counter(
      'bulkhead_thread_loop_idle_seconds_total',
      'Time that the event loop of a thread spent waiting.',
      of(({ idleMs }) => idleMs),
    ),
  ];
}

function processFamilies({ uptimeMs, process }: MetricsFacts): Family[] {
  const { cpuSeconds, residentBytes, startedAtSeconds, openFiles } = process;
  return [
    gauge('bulkhead_uptime_seconds', 'Since metrics of this runtime can be read.', alone(uptimeMs / 1_000)),
    counter('process_cpu_seconds_total', 'User and system CPU time of this process.', alone(cpuSeconds)),
    gauge('process_resident_memory_bytes', 'Resident memory of this process.', alone(residentBytes)),
    gauge('process_start_time_seconds', 'Start of this process, in Unix time.', alone(startedAtSeconds)),
    ...(openFiles === undefined
      ? []
      : [gauge('process_open_fds', 'Open file descriptors of this process.', alone(openFiles))]),
  ];
}

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, type: 'gauge', help, samples };
}

function counter(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, type: 'counter', help, samples };
}

function alone(value: number): Sample[] {
  return [{ labels: {}, value }];
}

function each(
  servers: readonly MetricsServer[],
  of: (server: MetricsServer) => number | undefined,
): Sample[] {
  return servers.flatMap((server) => {
    const value = of(server);
    return value === undefined ? [] : [{ labels: { server: server.name }, value }];
  });
}

function oneOf(server: string, states: readonly string[], current: string): Sample[] {
  return states.map((state) => ({ labels: { server, state }, value: state === current ? 1 : 0 }));
}
