/** Metrics as Prometheus reads them: parsed by a library of its format, named by its rules, and for this machine only. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Runtime } from '@bulkhead/runtime';
import { openMetrics } from '@bulkhead/runtime/control';
import { ControlClient, readEntry } from '@bulkhead/runtime/control/client';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { durationBoundsMs, LatencyRecorder } from '../../packages/runtime/src/latency.js';
import { root } from '../docs/markdown.js';
import { useCensus } from '../support/census.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const path = useTempDir();
const start = useRuntime(path);

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
});
afterEach(() => {
  delete process.env.XDG_RUNTIME_DIR;
});

/** As the library gives them: numbers are texts. */
interface Family {
  name: string;
  help: string;
  type: 'COUNTER' | 'GAUGE' | 'HISTOGRAM';
  metrics: { value?: string; labels?: Record<string, string> }[];
}

function parsed(text: string): Map<string, Family> {
  const families = parsePrometheusTextFormat(text) as Family[];
  return new Map(families.map((family) => [family.name, family]));
}

interface Reply {
  status: number | undefined;
  type: string | undefined;
  text: string;
}

function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, method, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode, type: answer.headers['content-type'], text }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** A name that must be escaped, and a server that never runs. */
const ODD = 'odd "name" \\ of\nlines';

async function busyRuntime(): Promise<Runtime> {
  const runtime = await start(
    { s: scripted({}), [ODD]: scripted({}), gone: { command: 'no-such-program' } },
    { control: { name: 'app' } },
  );
  await runtime.ready();
  for (let call = 0; call < 5; call++)
    await runtime.server('s').callTool('echo', { text: 'x'.repeat(1_000) });
  await runtime.server('s').callTool('fail', {});
  await runtime.server(ODD).callTool('echo', { text: 'y' });
  return runtime;
}

async function textOf(runtime: Runtime): Promise<string> {
  const port = await openMetrics(runtime, { port: 0 });
  const { status, type, text } = await get(port.url);
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  await port.close();
  return text;
}

async function scraped(runtime: Runtime): Promise<Map<string, Family>> {
  return parsed(await textOf(runtime));
}

/** The value of the one sample with these labels. */
function sampleOf(families: Map<string, Family>, name: string, labels: Record<string, string> = {}): number {
  const fitting = (families.get(name)?.metrics ?? []).filter(({ labels: own = {} }) =>
    Object.entries(labels).every(([label, value]) => own[label] === value),
  );
  expect(fitting, `${name} ${JSON.stringify(labels)}`).toHaveLength(1);
  return Number(fitting[0]?.value);
}

describe('the text', () => {
  test('tells a parser of the format what the runtime knows', async () => {
    const families = await scraped(await busyRuntime());
    const value = (name: string, labels?: Record<string, string>) => sampleOf(families, name, labels);
    expect(value('bulkhead_calls_total', { server: 's', outcome: 'ok' })).toBe(5);
    expect(value('bulkhead_calls_total', { server: 's', outcome: 'tool_error' })).toBe(1);
    expect(value('bulkhead_calls_in_flight', { server: 's' })).toBe(0);
    expect(value('bulkhead_calls_queued', { server: 's' })).toBe(0);
    expect(value('bulkhead_server_state', { server: 's', state: 'ready' })).toBe(1);
    expect(value('bulkhead_server_state', { server: 'gone', state: 'quarantined' })).toBe(1);
    expect(value('bulkhead_server_state', { server: 'gone', state: 'ready' })).toBe(0);
    expect(value('bulkhead_server_breaker_state', { server: 's', state: 'closed' })).toBe(1);
    expect(value('bulkhead_server_spawns_total', { server: 's' })).toBe(1);
    expect(value('bulkhead_server_restarts_total', { server: 's' })).toBe(0);
    expect(value('bulkhead_server_tools', { server: 's' })).toBeGreaterThan(1);
    expect(value('bulkhead_server_resident_memory_bytes', { server: 's' })).toBeGreaterThan(1e6);
    // Five echoes of a thousand bytes went there and came back, in their envelopes.
    expect(value('bulkhead_server_sent_bytes_total', { server: 's' })).toBeGreaterThan(5_000);
    expect(value('bulkhead_server_received_bytes_total', { server: 's' })).toBeGreaterThan(5_000);
    for (const thread of ['main', 'supervisor'])
      expect(value('bulkhead_thread_loop_active_seconds_total', { thread })).toBeGreaterThan(0);
    expect(
      value('bulkhead_thread_loop_idle_seconds_total', { thread: 'server', server: 's' }),
    ).toBeGreaterThan(0);
    expect(value('bulkhead_thread_loop_delay_seconds', { thread: 'server', server: 's' })).toBeLessThan(60);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(Math.abs(value('process_start_time_seconds') - performance.timeOrigin / 1_000)).toBeLessThan(5);
  });

  test('has the durations as a histogram whose buckets only grow', async () => {
    const text = await textOf(await busyRuntime());
    expect(parsed(text).get('bulkhead_call_duration_seconds')?.type).toBe('HISTOGRAM');
    // The library leaves the labels of a histogram out; its lines by themselves keep them.
    const lines = parsed(text.replaceAll(/^# \w+ bulkhead_call_duration_seconds .*\n/gm, ''));
    const buckets = lines.get('bulkhead_call_duration_seconds_bucket')?.metrics ?? [];
    const counts = buckets
      .filter(({ labels }) => labels?.server === 's')
      .map(({ labels, value }): [number, number] => [
        Number(labels?.le?.replace('+Inf', 'Infinity')),
        Number(value),
      ]);
    expect(counts.map(([le]) => le)).toEqual([
      ...durationBoundsMs.map((ms) => ms / 1_000),
      Number.POSITIVE_INFINITY,
    ]);
    expect(counts.every(([, count], index) => index === 0 || count >= (counts[index - 1]?.[1] ?? 0))).toBe(
      true,
    );
    expect(counts.at(-1)?.[1]).toBe(6);
    const sum = sampleOf(lines, 'bulkhead_call_duration_seconds_sum', { server: 's' });
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThan(60);
    expect(sampleOf(lines, 'bulkhead_call_duration_seconds_count', { server: 's' })).toBe(6);
  });

  test('follows the rules for names: units, totals, help, and labels that are bounded', async () => {
    const families = [...(await scraped(await busyRuntime())).values()];
    expect(families.length).toBeGreaterThan(15);
    const servers = ['s', ODD, 'gone', ''];
    for (const { name, type, help, metrics } of families) {
      expect(name).toMatch(/^(bulkhead|process)_[a-z_]+$/);
      expect(help, name).toMatch(/\.$/);
      expect(name.endsWith('_total'), name).toBe(type === 'COUNTER');
      expect(name, 'base units').not.toMatch(/_(ms|millis|milliseconds|kb|kib|mb|percent)(_|$)/);
      for (const { labels = {} } of metrics) {
        expect(['server', 'outcome', 'state', 'thread', 'le']).toEqual(
          expect.arrayContaining(Object.keys(labels)),
        );
        if (labels.server !== undefined) expect(servers, name).toContain(labels.server);
      }
    }
    const named = families.flatMap(({ metrics }) => metrics.map(({ labels }) => labels?.server));
    expect(named).toContain(ODD);
  });

  test('is the same on the control socket', async () => {
    const runtime = await busyRuntime();
    const entry = readEntry('app');
    if (entry === undefined) throw new Error('there is no entry');
    const families = parsed(await new ControlClient(entry).metrics());
    expect([...families.keys()]).toEqual([...(await scraped(runtime)).keys()]);
    expect(sampleOf(families, 'bulkhead_calls_total', { server: 's', outcome: 'ok' })).toBe(5);
  });

  test('counts a restart', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    await runtime.server('s').restart();
    await reaches(runtime, 's', 'ready');
    const families = await scraped(runtime);
    expect(sampleOf(families, 'bulkhead_server_restarts_total', { server: 's' })).toBe(1);
    expect(sampleOf(families, 'bulkhead_server_spawns_total', { server: 's' })).toBe(2);
  });
});

describe('the port', () => {
  test('answers to names of this machine only, and knows two routes', async () => {
    const runtime = await start({ s: scripted({}) });
    await runtime.ready();
    const { url } = await openMetrics(runtime, { port: 0 });
    const { port } = new URL(url);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
      expect((await get(url, { host })).status, host).toBe(200);
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example'])
      expect((await get(url, { host })).status, host).toBe(403);
    const health = await get(url.replace('/metrics', '/healthz'));
    expect([health.status, JSON.parse(health.text)]).toEqual([200, { ready: 1, total: 1 }]);
    for (const route of ['/', '/v1/status', '/v1/shutdown', '/metrics/'])
      expect((await get(url.replace('/metrics', route))).status, route).toBe(404);
    expect((await get(url, {}, 'POST')).status).toBe(404);
  });

  test('is refused on any other interface, and where it is taken', async () => {
    const runtime = await start({ s: scripted({}) });
    const { url } = await openMetrics(runtime, { port: 0 });
    const taken = Number(new URL(url).port);
    expect(await failureOf(openMetrics(runtime, { port: taken }))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(`port ${taken} of 127.0.0.1`),
    });
    const anywhere = { port: 0, host: '0.0.0.0' as '127.0.0.1' };
    expect(await failureOf(openMetrics(runtime, anywhere))).toMatchObject({ code: 'BAD_INPUT' });
    expect(await failureOf(openMetrics(runtime, { port: 70_000 }))).toMatchObject({ code: 'BAD_INPUT' });
  });

  test('ends with its runtime', async () => {
    const runtime = await start({ s: scripted({}) });
    const { url } = await openMetrics(runtime, { port: 0 });
    await runtime.close();
    await expect(get(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('is an option of the runtime, which does not start without it', async () => {
    const runtime = await start({ s: scripted({}) });
    const { url } = await openMetrics(runtime, { port: 0 });
    const port = Number(new URL(url).port);
    expect(await failureOf(start({ t: scripted({}) }, { metrics: { port } }))).toMatchObject({
      code: 'BAD_INPUT',
    });
  });
});

test('a histogram is at most one of its fine buckets off', () => {
  const recorder = new LatencyRecorder();
  expect(recorder.cumulative()).toBeUndefined();
  const values = Array.from({ length: 2_000 }, (_, index) => 0.5 * 1.006 ** index);
  for (const value of values) recorder.record(value);
  const counts = recorder.cumulative() ?? [];
  for (const [index, bound] of durationBoundsMs.entries()) {
    const below = (limit: number) => values.filter((value) => value <= limit).length;
    expect(counts[index]).toBeGreaterThanOrEqual(below(bound / 1.021));
    expect(counts[index]).toBeLessThanOrEqual(below(bound * 1.001));
  }
});

describe('what is written about metrics', () => {
  const file = (path: string) => readFileSync(join(root, path), 'utf8');
  const names = (text: string) => new Set(text.match(/\b(?:bulkhead|process)_[a-z_]+[a-z]\b/g));

  test('the dashboard asks for none that is not there, and leaves no server family out', async () => {
    const { panels } = JSON.parse(file('examples/grafana/bulkhead.json')) as {
      panels: { title: string; targets: { expr: string }[] }[];
    };
    const asked = names(panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n'));
    const there = names((await textOf(await busyRuntime())).replaceAll(/^# .*/gm, ''));
    expect([...asked].filter((name) => !there.has(name))).toEqual([]);
    const left = [...there].filter((name) => name.startsWith('bulkhead_server_') && !asked.has(name));
    expect(left).toEqual([
      'bulkhead_server_tools',
      'bulkhead_server_spawns_total',
      'bulkhead_server_skipped_lines_total',
    ]);
  });

  test('the page names every family, and no other', async () => {
    const [, section = ''] = file('docs/telemetry.md').split(/^## Prometheus$/m);
    const told = names(section.split(/^## /m)[0] ?? '');
    expect([...told].sort()).toEqual([...(await scraped(await busyRuntime())).keys()].sort());
  });
});
