/**
 * Bundles what `bulkhead call` loads when a resident does the work: one file in place of about sixty halves the time
 * between the keyboard and the server. Commands that do more are loaded from their own files, as without the bundle.
 * The files of the web page are copied beside the code that serves them.
 */
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { writeNotices } from '../../scripts/notices.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'dist');

/** One class of errors in the whole program, or `instanceof` tells two kinds apart. */
const errorsApart = {
  name: 'errors-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^@bulkhead\/workers\/errors$/ }, ({ path }) => ({ path, external: true }));
  },
};

/** Loaded only where they are installed and asked for. */
const OPTIONAL = ['@anthropic-ai/sdk', 'openai', 'ai', 'ink', 'react'];

/** Commands are loaded from their own files, unless `inside` says otherwise. */
function commandsApart(inside = () => false) {
  return {
    name: 'commands-apart',
    setup({ onResolve }) {
      onResolve({ filter: /[\\/]commands[\\/]/ }, ({ path, kind, resolveDir }) =>
        kind === 'dynamic-import' && !inside(path)
          ? { path: `./${relative(dist, join(resolveDir, path)).replaceAll('\\', '/')}`, external: true }
          : undefined,
      );
    },
  };
}

const quick = await build({
  absWorkingDir: here,
  entryPoints: ['dist/program.js'],
  outfile: 'dist/program.bundle.js',
  bundle: true,
  metafile: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [errorsApart, commandsApart()],
  banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
});

const assets = 'web/assets';
rmSync(join(dist, assets), { recursive: true, force: true });
cpSync(join(here, 'src', assets), join(dist, assets), { recursive: true });

/**
 * The same for `bulkhead batch`, which has a runtime of its own: reading the config and starting the supervisor need some
 * two hundred modules, 220 ms of a command that may be done in 300. What it seldom needs stays in files of its own.
 */
for (const name of readdirSync(dist)) if (/^batch-\w+\.js$/.test(name)) rmSync(join(dist, name));
const batch = await build({
  absWorkingDir: here,
  entryPoints: { 'program.batch': 'dist/program.js' },
  outdir: 'dist',
  metafile: true,
  chunkNames: 'batch-[hash]', // beside the modules: some of them look for files relative to themselves
  bundle: true,
  splitting: true,
  // jsonc-parser's other form loads its parts by names that no bundler sees.
  mainFields: ['module', 'main'],
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Threads and their messages are one set of modules for everybody; piscina finds its worker beside itself.
  external: ['@bulkhead/workers', '@bulkhead/workers/*', 'piscina', ...OPTIONAL],
  plugins: [commandsApart((path) => path.endsWith('commands/batch.js'))],
  banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
});
writeNotices(join(dist, 'THIRD-PARTY-NOTICES.txt'), [quick.metafile, batch.metafile], here);
