#!/usr/bin/env node
/**
 * `npm run consumer`: what `npx @bulkhead/cli` and `npm install @bulkhead/runtime` cost somebody: the tarballs are
 * installed into empty directories, with an empty cache (everything comes from the registry) and with a warm one. Whether
 * they work is a matter of `test/packages`.
 */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm } from './npm.mjs';
import { packAll } from './pack.mjs';

/** What npm would download for a package, beside packages of others. */
const NEEDS = new Map([
  ['@bulkhead/runtime', ['@bulkhead/workers', '@bulkhead/runtime']],
  ['@bulkhead/cli', ['@bulkhead/workers', '@bulkhead/runtime', '@bulkhead/cli']],
  ['@bulkhead/cluster', ['@bulkhead/workers', '@bulkhead/runtime', '@bulkhead/cluster']],
]);

const directory = mkdtempSync(join(tmpdir(), 'bulkhead-consumer-'));
try {
  const packed = new Map(packAll(join(directory, 'tarballs')).map((one) => [one.name, one]));
  console.log(
    '| package | tarballs of ours | packages | on disk | install, empty cache | install, warm cache |',
  );
  console.log('|---|---|---|---|---|---|');
  for (const [name, needed] of NEEDS) {
    const tarballs = needed.map((one) => packed.get(one).tarball);
    const bytes = tarballs.reduce((sum, path) => sum + statSync(path).size, 0);
    const cold = install(name, needed, packed, 'cold');
    const warm = install(name, needed, packed, 'warm');
    const cells = [
      `\`${name}\``,
      megabytes(bytes),
      warm.packages,
      megabytes(warm.bytes),
      seconds(cold),
      seconds(warm),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function install(name, needed, packed, cache) {
  const project = join(directory, `${name.replace('/', '-')}-${cache}`);
  mkdirSync(project, { recursive: true });
  const dependencies = Object.fromEntries(needed.map((one) => [one, `file:${packed.get(one).tarball}`]));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const begin = performance.now();
  npm([...args, '--cache', join(directory, name.replace('/', '-'))], project);
  const ms = performance.now() - begin;
  const lock = JSON.parse(readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8'));
  return { ms, packages: Object.keys(lock.packages).length, bytes: sizeOf(join(project, 'node_modules')) };
}

function sizeOf(path) {
  const found = lstatSync(path);
  if (!found.isDirectory()) return found.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function seconds({ ms }) {
  return `${(ms / 1_000).toFixed(1)} s`;
}
