/** What commands leave written: the audit of their calls, the log and the metrics of a resident. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { CallAuditRecord } from '@bulkhead/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { type Running, run, start, writeConfig } from './cli.js';

useCensus({ graceMs: 8_000 });
const path = useTempDir();
const running: Running[] = [];

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
  mkdirSync(path('run'), { mode: 0o700 });
  writeConfig(path('c.json'), { s: scripted({}) });
});
afterEach(async () => {
  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.splice(0).map(({ ended }) => ended));
  await run(['down', '--all']);
  delete process.env.XDG_RUNTIME_DIR;
});

const inDir = (...args: string[]) => run(args, { cwd: path() });

function records(file = path('audit.jsonl')): CallAuditRecord[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CallAuditRecord);
}

async function up(...args: string[]): Promise<Running> {
  const resident = start(['up', '-c', 'c.json', ...args], { cwd: path() });
  running.push(resident);
  await eventually(
    () => resident.stderr().includes('is up (process'),
    () => `the resident to be up; it said: ${resident.stderr()}`,
  );
  return resident;
}

describe('--audit', () => {
  test('of a batch has a line for every call', async () => {
    const lines = [1, 2, 3].map((n) =>
      JSON.stringify({ server: 's', tool: 'echo', arguments: { text: `${n}` } }),
    );
    writeFileSync(path('calls.jsonl'), `${lines.join('\n')}\n`);
    const { code } = await inDir('batch', 'calls.jsonl', '-c', 'c.json', '--audit', 'audit.jsonl');
    expect(code).toBe(0);
    expect(records().map(({ route, tool, outcome }) => `${route} ${tool} ${outcome}`)).toEqual(
      Array(3).fill('batch echo ok'),
    );
    expect(new Set(records().map(({ argsSha256 }) => argsSha256)).size).toBe(3);
  });

  test('of a call is written by it, even where a resident is up', async () => {
    await up('--audit', 'resident.jsonl');
    const audit = ['--audit', 'audit.jsonl', '--audit-args', 'redacted'];
    expect((await inDir('call', 's.echo', 'text=one', '-c', 'c.json', ...audit)).code).toBe(0);
    expect((await inDir('call', 's.echo', 'text=two', '-c', 'c.json')).code).toBe(0);
    expect(records().map(({ route, args }) => [route, args])).toEqual([['direct', { text: 'one' }]]);
    await inDir('down', '--all');
    expect(records(path('resident.jsonl')).map(({ route, tool }) => [route, tool])).toEqual([
      ['control', 'echo'],
    ]);
  });

  test('is refused for servers that are not this command’s own', async () => {
    const { code, stderr } = await inDir('call', 's.echo', '--resident', 'x', '--audit', 'audit.jsonl');
    expect(code).toBe(1);
    expect(stderr).toContain('bulkhead up --audit');
    expect(existsSync(path('audit.jsonl'))).toBe(false);
  });

  test.each([
    [['call', 's.echo', '--audit-args', 'hash'], '--audit-args goes with --audit'],
    [['up', '--audit', 'a', '--audit-args', 'all'], '--audit-args: expected hash, redacted, none'],
    [['up', '--log-level', 'loud'], '--log-level: expected trace'],
    [['up', '--log-format', 'pretty'], '--log-format goes with'],
    [['up', '--metrics-port', '0.0.0.0:9464'], '--metrics-port: expected a port'],
    [['up', '--metrics-port', '99999'], '--metrics-port: expected a port'],
  ])('and its sisters say what they take: %j', async (args, message) => {
    const { code, stderr } = await inDir(...args, '-c', 'c.json');
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe('a resident', () => {
  test('writes its log and has metrics for Prometheus', async () => {
    const resident = await up('--log-file', 'log.jsonl', '--log-level', 'debug', '--metrics-port', '0');
    const url = /metrics are at (\S+)/.exec(resident.stderr())?.[1] ?? '';
    expect((await inDir('call', 's.echo', 'text=one', '-c', 'c.json')).code).toBe(0);
    expect(await (await fetch(url)).text()).toContain('bulkhead_calls_total{server="s",outcome="ok"} 1\n');
    await inDir('down', '--all');
    const events = readFileSync(path('log.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    expect(events).toEqual(expect.arrayContaining(['start', 'config', 'state', 'tools', 'request', 'close']));
  });

  test('in the background keeps these options, and its log can be for people', async () => {
    const options = ['--log-level', 'info', '--log-format', 'pretty', '--audit', 'audit.jsonl'];
    const { code, stdout } = await inDir('up', '--detach', '--json', '-c', 'c.json', ...options);
    expect(code).toBe(0);
    expect((await inDir('call', 's.echo', 'text=one', '-c', 'c.json')).code).toBe(0);
    await inDir('down', '--all');
    expect(records()).toHaveLength(1);
    const said = readFileSync(JSON.parse(stdout).log, 'utf8');
    expect(said).toMatch(/INFO.*server is ready/);
  });
});
