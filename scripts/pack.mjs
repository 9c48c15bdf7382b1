#!/usr/bin/env node
/**
 * `npm run pack [-- directory]`: the packages as npm gets them, one tarball each (default `packed/`). pnpm packs, because
 * it writes real versions where the workspace says `workspace:` and `catalog:`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './npm.mjs';
import { PNPM } from './pnpm.mjs';
import { root } from './tool.mjs';

/** Packs what is built now. @returns name, version, path of the tarball and the paths in it, the lowest layer first */
export function packAll(directory) {
  mkdirSync(directory, { recursive: true });
  const args = [
    '-y',
    PNPM,
    '--recursive',
    '--filter',
    './packages/*',
    'pack',
    '--pack-destination',
    directory,
  ];
  const packed = JSON.parse(run('npx', [...args, '--json'], root));
  const order = ['@bulkhead/workers', '@bulkhead/runtime', '@bulkhead/cluster', '@bulkhead/cli'];
  return packed
    .map(({ name, version, filename }) => {
      const tarball = join(directory, basename(filename));
      return { name, version, tarball, files: filesIn(tarball) };
    })
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

/** As the archive has them: pnpm adds files, such as the licence, that its own report leaves out. */
function filesIn(tarball) {
  const listed = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' });
  return listed
    .trim()
    .split(/\r?\n/)
    .map((path) => path.replace(/^package\//, ''))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { tarball } of packAll(resolve(process.argv[2] ?? 'packed'))) console.log(tarball);
}
