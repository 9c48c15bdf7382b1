/** The report of a run: the machine, the versions of everything measured, and the rows of each scene. */
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { SCENES } from './options.mjs';
import { installed, versionIn } from './peers/installed.mjs';
import { labelOf } from './peers/list.mjs';
import { BENCH } from './places.mjs';

export function machine() {
  return {
    platform: `${process.platform} ${process.arch}`,
    kernel: release(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    loadAtStart: loadavg()[0],
    startedAt: new Date().toISOString(),
  };
}

function versionOf(peer) {
  if (peer.install !== undefined) return versionIn(installed(peer), Object.keys(peer.install)[0]);
  if (peer.name === 'sdk1') return versionIn(BENCH, '@modelcontextprotocol/sdk');
  const own = join(BENCH, '../packages/runtime/package.json');
  return JSON.parse(readFileSync(own, 'utf8')).version;
}

/** Package and version of each peer, by the name in its rows. */
export function versions(peers) {
  const named = peers
    .filter(({ bound }) => bound !== true)
    .map((peer) => {
      const { name, node } = labelOf(peer);
      const packageName = Object.keys(peer.install ?? {})[0];
      const label = node === undefined ? name : `${name} (${node})`;
      return [label, packageName === undefined ? versionOf(peer) : `${packageName} ${versionOf(peer)}`];
    });
  return { node: process.version, ...Object.fromEntries(named) };
}

/**
 * Joins reports of several runs; where two have the same scene, the later one counts.
 * @throws {Error} when they are of different machines or versions of Node, or when a file is no report
 */
export function joinReports(reports) {
  const [first] = reports;
  for (const { machine, versions, scenes } of reports) {
    if (machine === undefined || versions === undefined || scenes === undefined) {
      throw new Error('bench: expected the JSON of a run: machine, versions, scenes');
    }
    if (machine.cpu !== first.machine.cpu || versions.node !== first.versions.node) {
      throw new Error('bench: figures of different machines or versions of Node cannot stand in one table');
    }
  }
  const scenes = Object.assign({}, ...reports.map(({ scenes }) => scenes));
  return {
    ...first,
    runs: rangeOf(reports.map(({ runs }) => runs)),
    sampleMs: rangeOf(reports.map(({ sampleMs }) => sampleMs)),
    versions: Object.assign({}, ...reports.map(({ versions }) => versions)),
    // In the order of a full run, whichever file they come from.
    scenes: Object.fromEntries(
      SCENES.flatMap((name) => (scenes[name] === undefined ? [] : [[name, scenes[name]]])),
    ),
  };
}

/** One number when all agree, else what they lie between. */
function rangeOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? low : `${low} to ${high}`;
}
