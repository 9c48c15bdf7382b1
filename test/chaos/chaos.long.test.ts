/** A short run of the chaos suite; `npm run chaos -- --minutes N` is the long one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';

useCensus({ graceMs: 10_000 });
const CHAOS = fileURLToPath(new URL('./chaos.mjs', import.meta.url));

const runs: ChildProcess[] = [];
afterEach(() => {
  for (const run of runs.splice(0)) run.kill('SIGKILL');
});

/** All that the run says; the seed stands in its first line. */
async function chaos(...options: string[]): Promise<string> {
  const run = spawn(process.execPath, ['--unhandled-rejections=strict', CHAOS, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  runs.push(run);
  let output = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code, signal] = await once(run, 'close');
  expect({ code, signal, output }).toMatchObject({ code: 0, signal: null });
  return output;
}

/** A count of the output; 0 when it is not there. */
function countOf(output: string, what: string): number {
  return Number(new RegExp(`^${what} +(\\d+)$`, 'm').exec(output)?.[1] ?? 0);
}

it('five servers that hang, crash, flood, stop and spin cost nine others not one call', async () => {
  const output = await chaos('--seconds', '20');
  expect(output).toMatch(/^chaos: \d{4,} calls, 0 violations$/m);
  // It was chaos indeed: a run in which nothing happens proves nothing.
  expect(countOf(output, 'failures by exit')).toBeGreaterThan(5);
  expect(countOf(output, 'failures by watchdog')).toBeGreaterThan(0);
  expect(countOf(output, 'SIGKILL to a server')).toBeGreaterThan(0);
  expect(countOf(output, 'bad calls ended as TIMEOUT')).toBeGreaterThan(0);
}, 120_000);

it('a lost supervisor costs the calls under way, each ends once, and all servers come back', async () => {
  const output = await chaos('--seconds', '10', '--kill-supervisor', '4000');
  expect(output).toMatch(/^chaos: \d{3,} calls, 0 violations$/m);
  expect(countOf(output, 'supervisor threads lost')).toBe(1);
}, 120_000);
