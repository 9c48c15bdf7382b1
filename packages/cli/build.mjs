/**
 * Bundles what `bulkhead call` loads when a resident does the work: one file in place of about sixty halves the time
 * between the keyboard and the server. Commands that do more are loaded from their own files, as without the bundle.
 */
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'dist');

const edges = {
  name: 'edges',
  setup({ onResolve }) {
    // One class of errors in the whole program, or `instanceof` tells two kinds apart.
    onResolve({ filter: /^@bulkhead\/workers\/errors$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /[\\/]commands[\\/]/ }, ({ path, kind, resolveDir }) =>
      kind === 'dynamic-import'
        ? { path: `./${relative(dist, join(resolveDir, path)).replaceAll('\\', '/')}`, external: true }
        : undefined,
    );
  },
};

await build({
  absWorkingDir: here,
  entryPoints: ['dist/program.js'],
  outfile: 'dist/program.bundle.js',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [edges],
  banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
});
