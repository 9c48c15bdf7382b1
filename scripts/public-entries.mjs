/** What programs can import of the packages, and the source behind it; by the `exports` of the manifests. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tool.mjs';

/** Packages for programs. The threads' package is a part of the runtime, the command has no exports. */
const PUBLIC = ['runtime', 'cluster'];

/** @returns {{ specifier: string, source: string }[]} `source` relative to the root */
export function publicEntries() {
  return PUBLIC.flatMap((directory) => {
    const path = join(root, 'packages', directory, 'package.json');
    const { name, exports } = JSON.parse(readFileSync(path, 'utf8'));
    return Object.entries(exports)
      .filter(([, { types }]) => types !== undefined)
      .map(([subpath, { types }]) => ({
        specifier: name + subpath.slice(1),
        source: `packages/${directory}/${types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts')}`,
      }));
  });
}
