/** A short run of the hard test of distributed batches; `npm run test:cluster` is the long one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { redisMissing } from '../support/redis.js';

useCensus({ graceMs: 10_000 });
const RUN = fileURLToPath(new URL('./hard/run.mjs', import.meta.url));

const runs: ChildProcess[] = [];
afterEach(() => {
  for (const run of runs.splice(0)) run.kill('SIGTERM');
});

/** All that the run says; the seed stands in its first line. */
async function hard(...options: string[]): Promise<string> {
  const run = spawn(process.execPath, ['--unhandled-rejections=strict', RUN, '--quick', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  runs.push(run);
  let output = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code, signal] = await once(run, 'close');
  expect({ code, signal, output }).toMatchObject({ code: 0, signal: null });
  return output;
}

const missing = redisMissing();
describe.skipIf(missing !== undefined)(`a distributed batch${missing ? ` (${missing})` : ''}`, () => {
  it('has one result of every line when a worker is killed, another frozen, and Redis crashes', async () => {
    const output = await hard('--calls', '5000');
    expect(output).toMatch(/^\d+ passed, 0 failed$/m);
    // It was hard indeed: something was in flight at the workers that were lost.
    expect(Number(/^chunks taken over +(\d+)$/m.exec(output)?.[1])).toBeGreaterThan(0);
    expect(Number(/^outcome_unknown +(\d+)$/m.exec(output)?.[1])).toBeGreaterThan(0);
  }, 120_000);
});
