/**
 * What an install and a build were made from, as hashes. A stamp beside the product remembers the hash; equal means
 * there is nothing to do. Hashes and not times: a checkout or a copy changes times at will.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './tool.mjs';

const INSTALL_STAMP = join(root, 'node_modules/.bulkhead-install');
const BUILD_STAMP = join(root, 'packages/cli/dist/.bulkhead-build');
/** One file per package, and one of the bundles: a dist directory that was deleted is noticed. */
const PRODUCTS = [
  'packages/workers/dist/index.js',
  'packages/workers/dist/threads/server.js',
  'packages/runtime/dist/index.js',
  'packages/cli/dist/main.js',
];

/** Directories of all packages of the workspace, the root first; relative. */
export function workspacePackages() {
  const below = (parent) =>
    existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => `${parent}/${name}`) : [];
  return ['.', 'bench', 'scripts', ...below('packages'), ...below('examples')].filter((directory) =>
    existsSync(join(root, directory, 'package.json')),
  );
}

export function isInstalled() {
  const current = read(join(root, 'node_modules/.pnpm/lock.yaml'));
  const stamp = read(INSTALL_STAMP);
  // Without our stamp somebody ran pnpm by hand: its own copy of the lock file tells as well.
  const same =
    stamp === undefined
      ? current !== undefined && current === read(join(root, 'pnpm-lock.yaml'))
      : stamp === installHash();
  return same && workspacePackages().every(dependenciesAreLinked);
}

export function isBuilt() {
  return read(BUILD_STAMP) === buildHash() && PRODUCTS.every((file) => existsSync(join(root, file)));
}

export function markInstalled() {
  write(INSTALL_STAMP, installHash());
}

/** @param {string} hash of the sources as they were before the build: what changed meanwhile is built next time */
export function markBuilt(hash) {
  write(BUILD_STAMP, hash);
}

export function buildHash() {
  const sources = readdirSync(join(root, 'packages')).flatMap((name) => {
    const directory = `packages/${name}`;
    return [
      ...filesBelow(`${directory}/src`),
      ...['package.json', 'tsconfig.json', 'build.mjs'].map((file) => `${directory}/${file}`),
    ];
  });
  return hashOf([
    ...sources,
    'tsconfig.json',
    'tsconfig.base.json',
    'pnpm-lock.yaml',
    'scripts/build.mjs',
    'scripts/notices.mjs',
  ]);
}

function installHash() {
  const manifests = workspacePackages().map((directory) => join(directory, 'package.json'));
  // Some packages hold programs for one platform only.
  const platform = `${process.platform}-${process.arch}`;
  return `${platform} ${hashOf([...manifests, 'pnpm-lock.yaml', 'pnpm-workspace.yaml'])}`;
}

function dependenciesAreLinked(directory) {
  const manifest = JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'));
  return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).every((name) =>
    existsSync(join(root, directory, 'node_modules', name)),
  );
}

function filesBelow(directory) {
  return readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of [...files].sort()) hash.update(`${file}\0${read(join(root, file)) ?? ''}\0`);
  return hash.digest('hex');
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, text);
  renameSync(`${path}.${process.pid}`, path);
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
