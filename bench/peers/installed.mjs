/**
 * Packages of peers that are no dependencies of the workspace: installed by npm into `bench/.peers/<peer>` on first use,
 * from there imported. Also another Node, as the platform's own package of the registry.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const CACHE = fileURLToPath(new URL('../.peers', import.meta.url));
const DONE = 'installed.json';

function readText(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** @returns the directory that holds `packages` @throws {Error} when npm could not install them */
function install(directoryName, packages) {
  const directory = join(CACHE, directoryName);
  const wanted = JSON.stringify(packages);
  if (readText(join(directory, DONE)) === wanted) return directory;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
  const listed = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  console.error(`Installing ${listed.join(' ')} for the benchmark …`);
  const args = [
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--loglevel=error',
  ];
  const { status, error } = spawnSync('npm', args, {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(error?.message ?? `npm could not install ${listed.join(' ')}`);
  writeFileSync(join(directory, DONE), wanted);
  return directory;
}

/** @returns where the peer's packages are; undefined when the workspace itself has them */
export function installed({ name, node, install: packages }) {
  if (packages === undefined) return undefined;
  return install(node === undefined ? name : `${name}-node${node}`, packages);
}

/** @returns the program of a Node of that major; the bench's own without one */
export function nodeProgram(major) {
  if (major === undefined) return process.execPath;
  // What `node` of the registry would fetch with a script of its own; install scripts stay off here.
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const directory = install(`node${major}`, { [name]: String(major) });
  return join(directory, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}

/** Imports a module as the packages in `directory` see it. */
export async function importFrom(directory, specifier) {
  const file = join(directory, `${specifier.replaceAll(/[^\w.-]/g, '_')}.entry.mjs`);
  const text = `export * from ${JSON.stringify(specifier)};\n`;
  if (readText(file) !== text) writeFileSync(file, text);
  return import(pathToFileURL(file).href);
}

/** Version of an installed package, `directory` being where its `node_modules` is. */
export function versionIn(directory, name) {
  return JSON.parse(readFileSync(join(directory, 'node_modules', name, 'package.json'), 'utf8')).version;
}
