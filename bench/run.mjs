#!/usr/bin/env node
/**
 * `npm run bench -- [scene…]`: runs the scenes one after the other, prints a table for each, and writes figures, charts
 * and the page on request. A figure means something only beside its peer's of the same run.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { chartOf } from './charts.mjs';
import { help, readOptions, SCENES } from './options.mjs';
import { generated, replaceGenerated } from './page.mjs';
import { installed, nodeProgram } from './peers/installed.mjs';
import { choose, labelOf } from './peers/list.mjs';
import { BENCH } from './places.mjs';
import { joinReports, machine, versions } from './report.mjs';
import { table } from './table.mjs';

const DOCS = join(BENCH, '../docs');

/** Those whose packages are there or can be fetched; who cannot take part is named, and the others run. */
function available(peers) {
  return peers.filter((peer) => {
    try {
      installed(peer);
      nodeProgram(peer.node);
      return true;
    } catch (error) {
      console.error(`bench: ${Object.values(labelOf(peer)).join(', ')} is left out: ${error.message}`);
      return false;
    }
  });
}

async function measure(options, scenes) {
  const peers = available(choose(options.peers));
  if (peers.length === 0) throw new Error('bench: nobody is left to be measured');
  const { runs, sampleMs, lines, chunks } = options;
  const context = { runs, sampleMs, lines, chunks };
  const report = { machine: machine(), versions: versions(peers), ...context, scenes: {} };
  const { cores, cpu, loadAtStart } = report.machine;
  console.log(`${cores} × ${cpu}, load ${loadAtStart.toFixed(1)} at start`);
  console.log(
    Object.entries(report.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
  );
  for (const name of options.scenes) {
    const { about, run } = scenes.get(name);
    console.log(`\n## ${name} — ${about}\n`);
    const rows = await run({ peers, ...context });
    report.scenes[name] = rows;
    console.log(table(rows));
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return report;
}

function writeCharts(report, directory) {
  const files = new Map();
  mkdirSync(directory, { recursive: true });
  for (const [scene, rows] of Object.entries(report.scenes)) {
    const svg = chartOf(scene, rows);
    if (svg === undefined) continue;
    const file = join(directory, `bench-${scene}.svg`);
    writeFileSync(file, svg);
    files.set(scene, file);
  }
  return files;
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  const modules = SCENES.map(async (name) => [name, await import(`./scenes/${name}.mjs`)]);
  const scenes = new Map(await Promise.all(modules));
  const abouts = new Map([...scenes].map(([name, { about }]) => [name, about]));
  if (options.help) {
    console.log(help(abouts));
    return;
  }
  const report =
    options.from === undefined
      ? await measure(options, scenes)
      : joinReports(options.from.map((file) => JSON.parse(readFileSync(file, 'utf8'))));
  if (options.from !== undefined && options.json !== undefined) {
    writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  const directory = options.charts ?? (options.docs ? join(DOCS, 'images') : undefined);
  const files = directory === undefined ? new Map() : writeCharts(report, directory);
  if (options.docs) {
    const page = join(DOCS, 'benchmarks.md');
    const paths = new Map(
      [...files].map(([scene, file]) => [scene, relative(DOCS, file).replaceAll('\\', '/')]),
    );
    writeFileSync(page, replaceGenerated(readFileSync(page, 'utf8'), generated(report, abouts, paths)));
  }
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
