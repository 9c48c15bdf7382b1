/**
 * The licences of what a bundle contains: a bundle is a copy of other people's work, and most licences ask that their
 * text goes with it. Made from esbuild's metafile, so it names what is in the bundle and nothing else.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const LEGAL = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/**
 * Writes the notices of all packages whose code is in one of the bundles, sorted by name and version.
 * @param {string} file
 * @param {import('esbuild').Metafile[]} metafiles of builds whose `absWorkingDir` was `workingDir`
 * @param {string} workingDir
 * @throws when a package says nothing about its licence: what may not be given away must not be bundled
 */
export function writeNotices(file, metafiles, workingDir) {
  const packages = new Map();
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
        if (bytesInOutput === 0 || !input.includes('node_modules/')) continue;
        const found = packageOf(join(workingDir, input));
        packages.set(`${found.name}@${found.version}`, found);
      }
    }
  }
  const sections = [...packages.keys()].sort().map((id) => section(id, packages.get(id)));
  const head =
    'The bundled files of this package contain code of the packages below, each under its own licence.\n';
  writeFileSync(file, [head, ...sections].join(`\n${'-'.repeat(78)}\n\n`));
}

/** The manifest that a file belongs to. Some packages hold nameless manifests that only say how to read the files. */
function packageOf(path) {
  for (let directory = dirname(path); directory !== dirname(directory); directory = dirname(directory)) {
    if (!readdirSync(directory).includes('package.json')) continue;
    const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    if (manifest.name !== undefined && manifest.version !== undefined) return { ...manifest, directory };
  }
  throw new Error(`${path} belongs to no package.`);
}

function section(id, { license, author, homepage, directory }) {
  const texts = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && LEGAL.test(entry.name))
    .map(({ name }) => readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n').trim());
  if (license === undefined && texts.length === 0) {
    throw new Error(`${id} (${directory}) states no licence, so it cannot be bundled. Make it external.`);
  }
  const by = typeof author === 'string' ? author : author?.name;
  const lines = [`${id}${typeof license === 'string' ? ` (${license})` : ''}`];
  if (by !== undefined && by !== '') lines.push(`by ${by}`);
  if (homepage !== undefined) lines.push(homepage);
  return `${[lines.join('\n'), ...texts].join('\n\n')}\n`;
}
