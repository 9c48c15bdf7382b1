#!/usr/bin/env node
/** Builds all packages: types and modules by `tsc -b`, then one bundled file per thread entry and one for quick commands. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildHash, markBuilt } from './stamp.mjs';
import { root, runNode, runTool } from './tool.mjs';

/** @returns {boolean} whether everything was built */
export function build() {
  const hash = buildHash();
  const built =
    runTool('typescript', 'tsc', ['-b']) &&
    ['workers', 'cli'].every((name) => runNode(['build.mjs'], join(root, 'packages', name)));
  if (built) markBuilt(hash);
  return built;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !build()) {
  console.error('The build failed; the messages above say where.');
  process.exitCode = 1;
}
