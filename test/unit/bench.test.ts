import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useTempDir } from '../support/temp-dir.js';

/** The bench is plain JavaScript: its shapes as far as these tests look at them. */
type Figures = Record<string, unknown>;
type Row = Figures & { name: string; spread?: [number, number] };
interface Host {
  label: { name: string; node?: string };
  renew?: () => Promise<void>;
}
interface Peer {
  name: string;
  set: string;
  node?: number;
}

const bench = new URL('../../bench/', import.meta.url);
const load = async <T>(file: string): Promise<T> => (await import(new URL(file, bench).href)) as T;

const { median, percentile, sample, quietSample } = await load<{
  median(values: (number | undefined)[]): number | undefined;
  percentile(values: number[], share: number): number;
  sample(
    work: () => unknown,
  ): Promise<{ value: unknown; wallMs: number; loopMs: number; maxLoopDelayMs: number }>;
  quietSample(work: () => unknown): Promise<{ value: unknown }>;
}>('measure.mjs');
const { compare } = await load<{
  compare(
    identity: Figures,
    hosts: Host[],
    runs: number,
    lead: string,
    measure: (host: Host) => Promise<Figures>,
  ): Promise<Row[]>;
}>('rows.mjs');
const { table } = await load<{ table(rows: Row[]): string }>('table.mjs');
const { barChart, chartOf, CHARTS } = await load<{
  barChart(chart: { title: string; groups: Map<string, Figures[]>; logarithmic?: boolean }): string;
  chartOf(scene: string, rows: Row[]): string | undefined;
  CHARTS: ReadonlyMap<string, unknown>;
}>('charts.mjs');
const { generated, replaceGenerated } = await load<{
  generated(report: unknown, abouts: Map<string, string>, charts: Map<string, string>): string;
  replaceGenerated(page: string, part: string): string;
}>('page.mjs');
const { readOptions, SCENES } = await load<{
  readOptions(args: string[]): { scenes: string[]; runs: number; peers: { names?: string[] } };
  SCENES: string[];
}>('options.mjs');
const { choose } = await load<{
  choose(wish: { names?: string[]; all?: boolean; node24?: boolean }): Peer[];
}>('peers/list.mjs');
const { joinReports } = await load<{
  joinReports(reports: unknown[]): { scenes: Record<string, unknown> };
}>('report.mjs');

describe('a measured stretch of work', () => {
  it('a loop that was blocked shows as loop time and as the longest delay', async () => {
    const { value, wallMs, loopMs, maxLoopDelayMs } = await sample(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      for (const until = performance.now() + 60; performance.now() < until; );
      return 'done';
    });
    expect(value).toBe('done');
    expect(wallMs).toBeGreaterThanOrEqual(60);
    expect(loopMs).toBeGreaterThan(55);
    expect(maxLoopDelayMs).toBeGreaterThan(50);
  });

  it('work that fails fails the sample', async () => {
    await expect(quietSample(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
  });

  it('the median leaves out rounds without the figure', () => {
    expect(median([3, undefined, 1, 2])).toBe(2);
    expect(median([4, 1])).toBe(2.5);
    expect(median([undefined])).toBeUndefined();
    expect(percentile([5, 1, 3], 0.99)).toBe(5);
  });
});

describe('rows of several rounds', () => {
  const sdk1: Host = { label: { name: 'sdk1' } };
  const bulkhead: Host = { label: { name: 'bulkhead' } };
  const newer: Host = { label: { name: 'bulkhead', node: 'Node 24' } };

  it('every round compares with the same round of sdk1, in turn from either end', async () => {
    const order: string[] = [];
    const rates = new Map([
      [sdk1, [100, 10, 100]],
      [bulkhead, [300, 30, 200]],
    ]);
    const rows = await compare({ inFlight: 64 }, [sdk1, bulkhead], 3, 'callsPerSecond', async (host) => {
      order.push(host.label.name);
      return { callsPerSecond: rates.get(host)?.shift() };
    });
    expect(order).toEqual(['sdk1', 'bulkhead', 'bulkhead', 'sdk1', 'sdk1', 'bulkhead']);
    expect(rows[1]).toMatchObject({
      name: 'bulkhead',
      inFlight: 64,
      callsPerSecond: 200,
      spread: [30, 300],
      ratioToSdk1: 3,
    });
    expect(rows[0]?.ratioToSdk1).toBe(1);
  });

  it('a peer under another Node is not compared with sdk1 under this one', async () => {
    const rows = await compare({}, [sdk1, newer], 1, 'callsPerSecond', async () => ({ callsPerSecond: 1 }));
    expect(rows[1]).toMatchObject({ name: 'bulkhead', node: 'Node 24' });
    expect(rows[1]).not.toHaveProperty('ratioToSdk1');
  });

  it('a peer that fails keeps its row with the reason, is renewed, and does not fail again in the next round', async () => {
    let tries = 0;
    let renewed = 0;
    const broken: Host = {
      label: { name: 'mcporter' },
      async renew() {
        renewed++;
      },
    };
    const rows = await compare({ sizeMb: 32 }, [sdk1, broken], 3, 'tookMs', async (host) => {
      if (host !== broken) return { tookMs: 5 };
      tries++;
      throw new Error(`Cannot find ${fileURLToPath(bench)}x.mjs\n    at somewhere`);
    });
    expect(rows[1]).toEqual({ name: 'mcporter', sizeMb: 32, failed: 'Cannot find bench/x.mjs' });
    expect([tries, renewed]).toEqual([1, 1]);
    expect(table(rows)).toContain('Cannot find bench/x.mjs');
  });

  it('the table has no column that nobody has a figure for', () => {
    const text = table([{ name: 'sdk1', callsPerSecond: 41_234.4, lead: 'callsPerSecond', spread: [1, 2] }]);
    const [head = '', , line = ''] = text.split('\n');
    expect(head).toMatch(/peer +\| calls\/s \| +spread/);
    expect(line).toContain('41234 |');
    expect(line).toContain('calls/s: 1 … 2');
  });
});

describe('charts', () => {
  const rows: Row[] = [
    { name: 'sdk1', inFlight: 64, callsPerSecond: 40_000, lead: 'callsPerSecond', spread: [30_000, 50_000] },
    {
      name: 'bulkhead',
      inFlight: 64,
      callsPerSecond: 120_000,
      lead: 'callsPerSecond',
      spread: [120_000, 120_000],
    },
    { name: 'a<b&c', inFlight: 64, failed: 'closed' },
  ];
  const widths = (svg: string) =>
    [...svg.matchAll(/<rect x="\d+" y="\d+" width="([\d.]+)"/g)].map((m) => Number(m[1]));

  it('bars are as long as their values, and the spread is a line', () => {
    const svg = chartOf('throughput', rows) ?? '';
    const [sdk = 0, bulkhead = 0] = widths(svg);
    expect(bulkhead / sdk).toBeCloseTo(3, 1);
    expect(svg.match(/<line /g)).toHaveLength(1);
    expect(svg).toContain('>120,000<');
  });

  it('who failed is named with the reason, and names are escaped', () => {
    const svg = chartOf('throughput', rows) ?? '';
    expect(svg).toContain('a&lt;b&amp;c');
    expect(svg).toContain('>closed<');
  });

  it('a logarithmic one gives every decade the same length', () => {
    const bars = [1, 10, 100].map((value) => ({ name: String(value), peer: 'sdk1', value }));
    const svg = barChart({ title: 't', groups: new Map([['g', bars]]), logarithmic: true });
    const [one = 0, ten = 0, hundred = 0] = widths(svg);
    expect(ten - one).toBeCloseTo(hundred - ten, 0);
    expect(one).toBeGreaterThan(0);
  });

  it('without figures there is none', () => {
    expect(chartOf('throughput', [])).toBeUndefined();
  });

  it('every scene has one', () => {
    expect([...CHARTS.keys()].sort()).toEqual([...SCENES].sort());
  });
});

describe('the page', () => {
  const report = {
    machine: {
      platform: 'linux x64',
      cpu: 'A CPU',
      cores: 2,
      memoryGb: 24,
      loadAtStart: 0.1,
      startedAt: '2026-11-30T10:00:00.000Z',
    },
    versions: { node: 'v20.20.2', sdk1: '1.32.2' },
    runs: 5,
    sampleMs: 1_000,
    scenes: { latency: [{ name: 'sdk1', p50Ms: 0.1, lead: 'p50Ms', spread: [0.1, 0.2] }] },
  };

  it('the generated part names machine, versions and chart, and stands between its marks', () => {
    const part = generated(
      report,
      new Map([['latency', 'one call']]),
      new Map([['latency', 'images/l.svg']]),
    );
    const page = replaceGenerated('before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n', part);
    expect(page).toMatch(/^before\n<!-- bench:begin -->\n\nMeasured 2026-11-30 on 2 cores of A CPU/);
    expect(page).toContain('| `sdk1` | 1.32.2 |');
    expect(page).toContain('![one call](images/l.svg)');
    expect(page).not.toContain('old');
    expect(page.endsWith('<!-- bench:end -->\nafter\n')).toBe(true);
  });

  it('a page without the marks is left alone, with an error', () => {
    expect(() => replaceGenerated('nothing here', 'x')).toThrow('bench:begin');
  });

  it('figures of another machine cannot be joined', () => {
    const other = { ...report, machine: { ...report.machine, cpu: 'Another' }, scenes: { http: [] } };
    expect(() => joinReports([report, other])).toThrow('different machines');
    expect(Object.keys(joinReports([report, { ...report, scenes: { http: [] } }]).scenes)).toEqual([
      'latency',
      'http',
    ]);
  });
});

describe('the command line', () => {
  it('an unknown scene, an unknown peer and a number that is none are refused by name', () => {
    expect(() => readOptions(['warp'])).toThrow('no scene warp');
    expect(() => readOptions(['--runs', '0'])).toThrow('--runs');
    expect(() => choose({ names: ['nobody'] })).toThrow('no peer nobody');
  });

  it('heavy peers and another Node take part only on request', () => {
    const usual = choose({});
    expect(usual.map(({ name }) => name)).toEqual(['sdk1', 'bulkhead', 'raw-pipe', 'client2', 'mcporter']);
    expect(usual.every(({ node }) => node === undefined)).toBe(true);
    expect(choose({ all: true }).length).toBeGreaterThan(usual.length + 4);
  });
});

describe('a short run', () => {
  const temp = useTempDir();
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [fileURLToPath(new URL('run.mjs', bench)), ...args]);

  it('prints a table, and writes figures and a chart', async () => {
    const json = temp('figures.json');
    const args = ['throughput', '--runs', '1', '--sample', '100', '--peers', 'sdk1,bulkhead,raw-pipe'];
    const { stdout } = await run(...args, '--json', json, '--charts', temp('charts'));
    expect(stdout).toContain('| sdk1 ');
    const report = JSON.parse(readFileSync(json, 'utf8')) as {
      machine: { cores: number };
      versions: Record<string, string>;
      scenes: { throughput: Row[] };
    };
    expect(report.machine.cores).toBeGreaterThan(0);
    expect(report.versions).toMatchObject({ node: process.version, sdk1: expect.stringMatching(/^1\./) });
    expect(report.scenes.throughput.map(({ name, inFlight }) => `${name} ${inFlight}`)).toEqual(
      [1, 16, 64, 256].flatMap((inFlight) =>
        ['sdk1', 'bulkhead', 'raw-pipe'].map((name) => `${name} ${inFlight}`),
      ),
    );
    for (const row of report.scenes.throughput) {
      expect(row.failed).toBeUndefined();
      for (const key of [
        'callsPerSecond',
        'loopMicrosPerCall',
        'cpuMicrosPerCall',
        'p50Ms',
        'p99Ms',
        'ratioToSdk1',
      ])
        expect(row[key]).toBeGreaterThan(0);
    }
    expect(readFileSync(temp('charts', 'bench-throughput.svg'), 'utf8')).toMatch(/^<svg .*<\/svg>\n$/s);
  });

  it('takes figures from files, and says what it cannot read', async () => {
    writeFileSync(temp('not.json'), '{"tests": 3}');
    await expect(run('--from', temp('not.json'))).rejects.toThrow('expected the JSON of a run');
  });
});
