/** Starting and stopping again and again leaves nothing behind: neither memory nor handles nor processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';

useCensus();
const HOST = fileURLToPath(new URL('./cycle-host.mjs', import.meta.url));
const GROWTH_MAX_BYTES = 20 * 1024 * 1024;

const hosts: ChildProcess[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) host.kill('SIGKILL');
});

interface Sample {
  cycle: number;
  rssBytes: number;
  resources: string[];
  listeners: string[];
  processes: number;
  zombies: number;
}

/** What the host held after each cycle; fails when it does not end well. */
async function cycles(scene: 'server' | 'runtime', times: number): Promise<Sample[]> {
  const args = ['--expose-gc', '--unhandled-rejections=strict', HOST, scene, String(times)];
  const host = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  hosts.push(host);
  const exited = once(host, 'exit');
  const samples: Sample[] = [];
  for await (const line of createInterface({ input: host.stdout })) samples.push(JSON.parse(line));
  expect(await exited).toEqual([0, null]);
  expect(samples.map(({ cycle }) => cycle)).toEqual(Array.from({ length: times }, (_, i) => i + 1));
  return samples;
}

/** Of the cycles `from` … `to`: what one of them holds by chance says nothing. */
function medianRss(samples: readonly Sample[], from: number, to: number): number {
  const sorted = samples
    .filter(({ cycle }) => cycle >= from && cycle <= to)
    .map(({ rssBytes }) => rssBytes)
    .sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Nothing but memory may differ from one settled cycle to the next. */
function expectFlat(samples: readonly Sample[], processes: number): void {
  const forms = samples.map(({ resources, listeners }) => `${resources.join()} · ${listeners.join()}`);
  // The first cycles warm up: a stream is opened, a module is loaded.
  expect([...new Set(forms.slice(5))]).toHaveLength(1);
  expect(samples.filter(({ zombies }) => zombies > 0)).toEqual([]);
  expect(samples.filter((sample) => sample.processes > processes)).toEqual([]);
}

it('200 starts and stops of one server keep memory, handles and listeners flat, with no zombie at any time', async () => {
  const samples = await cycles('server', 200);
  // The server and the guard.
  expectFlat(samples, 2);
  const growth = medianRss(samples, 150, 200) - medianRss(samples, 50, 100);
  expect(growth).toBeLessThan(GROWTH_MAX_BYTES);
}, 240_000);

it('30 whole runtimes, one after the other, leave nothing in the host that made them', async () => {
  const samples = await cycles('runtime', 30);
  expectFlat(samples, 0);
  const growth = medianRss(samples, 21, 30) - medianRss(samples, 6, 15);
  expect(growth).toBeLessThan(GROWTH_MAX_BYTES);
}, 120_000);
