#!/usr/bin/env node
/**
 * `npm run bench -- [scene…]`: runs the scenes one after the other, prints a table for each, and writes all figures as
 * JSON on request. A figure means something only beside its peer's of the same run.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { table } from './rows.mjs';

const SCENES = new Map([
  [
    'throughput',
    'calls/s, loop and CPU time per call at 1, 16, 64 and 256 in flight; with a raw pipe as the upper bound',
  ],
  ['latency', 'one call in flight'],
  ['big', 'answers of 1, 8 and 32 MB, received and decoded: the loop’s longest delay'],
  ['isolation', 'a healthy server beside hanging, flooding, spinning and very talkative ones'],
  ['start', 'time to ready and memory for 1 and 10 servers; one healthy server among 9 that hang'],
  ['batch', 'the batch command beside the rate of the lane'],
]);

const HELP = `Usage: npm run bench -- [scene…] [--runs N] [--sample MS] [--lines N,N] [--json FILE]

  --runs N      rounds per case, all peers in each (default 5)
  --sample MS   length of one sample (default 1000)
  --lines N,N   sizes of the batch files (default 20000; 100000 takes a while)
  --json FILE   write machine, versions and all figures

Scenes (default all):
${[...SCENES].map(([name, what]) => `  ${name.padEnd(12)}${what}`).join('\n')}`;

function positive(name, value) {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1) {
    throw new Error(`bench: expected --${name} to be a whole number of 1 or more, got ${value}`);
  }
  return number;
}

function options() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      runs: { type: 'string', default: '5' },
      sample: { type: 'string', default: '1000' },
      lines: { type: 'string', default: '20000' },
      json: { type: 'string' },
    },
  });
  const unknown = positionals.find((name) => !SCENES.has(name));
  if (unknown !== undefined)
    throw new Error(`bench: no scene ${unknown}; there are ${[...SCENES.keys()].join(', ')}`);
  return {
    help: values.help === true,
    json: values.json,
    scenes: positionals.length === 0 ? [...SCENES.keys()] : positionals,
    context: {
      runs: positive('runs', values.runs),
      sampleMs: positive('sample', values.sample),
      lines: values.lines.split(',').map((value) => positive('lines', value)),
    },
  };
}

function versionOf(path) {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version;
}

async function main() {
  const { help, json, scenes, context } = options();
  if (help) {
    console.log(HELP);
    return;
  }
  const machine = {
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    loadAtStart: loadavg()[0],
  };
  const versions = {
    node: process.version,
    bulkhead: versionOf('../packages/runtime/package.json'),
    sdk1: versionOf('./node_modules/@modelcontextprotocol/sdk/package.json'),
  };
  console.log(`${machine.cores} × ${machine.cpu}, load ${machine.loadAtStart.toFixed(1)} at start`);
  console.log(`Node ${versions.node}, @modelcontextprotocol/sdk ${versions.sdk1}`);
  const report = { machine, versions, ...context, scenes: {} };
  for (const name of scenes) {
    console.log(`\n## ${name} — ${SCENES.get(name)}\n`);
    const { run } = await import(`./scenes/${name}.mjs`);
    const rows = await run(context);
    report.scenes[name] = rows;
    console.log(table(rows));
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  }
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
