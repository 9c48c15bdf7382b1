#!/usr/bin/env node
/**
 * `npm run simulate`: batches of up to a million calls on up to a thousand workers in simulated time, with the real
 * numbers and policy of queue and ledger. First a small real run against a real Redis says what a step of the store and a
 * line cost; the simulation of that same run stands beside it, so that one sees how far the model can be trusted.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from './report.mjs';
import { runReal } from './simulation/real.mjs';
import { simulate } from './simulation/simulation.mjs';
import { page, realTable, simulatedTable } from './simulation/tables.mjs';

const DOCS = fileURLToPath(new URL('../docs/scale.md', import.meta.url));

const HELP = `Usage: npm run simulate -- [options]

  --calls N      calls of the largest case (default 1000000)
  --workers N    workers of the largest case (default 1000)
  --seed S       draws of latencies and kills (default 1)
  --from FILE    calibration of an earlier run in place of a real one
  --json FILE    write the calibration and all figures
  --docs         write the tables into docs/scale.md`;

/** Calls that take a while: what a fleet is for. */
const WINDOW = 64;
const MEAN_MS = 250;
const REAL = { calls: 20_000, workers: 20, window: 8, meanMs: 50, sigma: 0.5 };

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    calls: { type: 'string', default: '1000000' },
    workers: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string' },
    json: { type: 'string' },
    docs: { type: 'boolean', default: false },
  },
});

function whole(name) {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number >= 1) return number;
  throw new Error(`simulate: expected --${name} to be a whole number of 1 or more, got ${values[name]}`);
}

/** Each with one thing that is different. */
function cases({ calls, workers }) {
  const some = Math.max(1, Math.round(workers / 10));
  const base = { calls, window: WINDOW, meanMs: MEAN_MS };
  return [
    { name: 'one worker', ...base, calls: Math.ceil(calls / 100), workers: 1 },
    { name: 'ten workers', ...base, calls: Math.ceil(calls / 10), workers: 10 },
    { name: 'a tenth of the workers', ...base, workers: some },
    { name: 'and some killed', ...base, workers: some, kills: Math.max(1, Math.round(some / 5)) },
    { name: 'and a window over the fleet', ...base, workers: some, fleetWindow: some * 16 },
    { name: 'all workers', ...base, workers },
    { name: 'and slow calls', ...base, workers, meanMs: 4 * MEAN_MS },
    {
      name: 'and some killed',
      ...base,
      workers,
      meanMs: 4 * MEAN_MS,
      kills: Math.max(1, Math.round(workers / 50)),
    },
  ];
}

async function calibrate(seed) {
  if (values.from !== undefined) return JSON.parse(readFileSync(values.from, 'utf8')).real;
  console.log(`A real run: ${REAL.calls} calls, ${REAL.workers} workers in this process, a Redis …`);
  return { ...REAL, seed, machine: machine(), ...(await runReal({ ...REAL, seed })) };
}

async function main() {
  if (values.help) {
    console.log(HELP);
    return;
  }
  const [calls, workers, seed] = ['calls', 'workers', 'seed'].map(whole);
  const real = await calibrate(seed);
  const { stepMicros, lineMicros } = real;
  const costs = { stepMicros, lineMicros, seed };
  const model = simulate({ ...REAL, ...costs, oneCpu: true });
  console.log(`A step of the store: ${stepMicros.toFixed(0)} µs; a line: ${lineMicros.toFixed(0)} µs of CPU`);
  console.log(`\n${realTable(real, model)}\n`);
  const rows = [];
  for (const { name, ...setting } of cases({ calls, workers })) {
    const report = simulate({ ...setting, ...costs });
    rows.push({ ...report, name, setting });
    console.log(
      `${name}: ${setting.calls} calls, ${setting.workers} workers, ${report.seconds.toFixed(1)} s`,
    );
    for (const violation of report.violations) console.log(`  violation: ${violation}`);
  }
  console.log(`\n${simulatedTable(rows)}\n`);
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ real, model, rows }, null, 2)}\n`);
  if (values.docs) writeFileSync(DOCS, page(readFileSync(DOCS, 'utf8'), { real, model, rows }));
  const violations = rows.reduce((sum, row) => sum + row.violations.length, 0);
  console.log(`simulate: ${rows.length} cases, ${violations} violations`);
  if (violations > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
