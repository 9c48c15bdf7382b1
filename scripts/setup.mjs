#!/usr/bin/env node
/**
 * Makes a checkout ready to run: the right Node, the dependencies of the lock file, a current build. Whatever is up to
 * date is skipped, so a second run takes no time and no network.
 */
import { spawnSync } from 'node:child_process';
import { PNPM } from './pnpm.mjs';

const NODE_FLOOR = [20, 19];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor < NODE_FLOOR[1])) {
  stop(
    `Node ${process.versions.node} is too old: Bulkhead needs ${NODE_FLOOR.join('.')} or newer.`,
    'Install a current Node (the file .nvmrc names one for nvm and fnm) and run this again.',
  );
}

// Imported only now: an older Node would fail in them with words that help nobody.
const { isBuilt, isInstalled, markInstalled } = await import('./stamp.mjs');
const { build } = await import('./build.mjs');
const { npmEnvironment } = await import('./npm.mjs');
const { root } = await import('./tool.mjs');

if (!isInstalled()) {
  console.log(`Installing the dependencies of pnpm-lock.yaml with ${PNPM} …`);
  if (!install()) {
    stop(
      'The dependencies could not be installed; the messages above say why.',
      'The first install needs the network. If pnpm-lock.yaml does not fit a package.json, that is a mistake to fix there.',
    );
  }
  markInstalled();
}
if (!isBuilt()) {
  console.log('Building the packages …');
  if (!build()) stop('The build failed; the messages above say where.');
}

function install() {
  const { status, error } = spawnSync('npx', ['-y', PNPM, 'install', '--frozen-lockfile'], {
    cwd: root,
    env: npmEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit'],
    // npx is a batch file there.
    shell: process.platform === 'win32',
  });
  if (error) console.error(error.message);
  return status === 0;
}

function stop(...lines) {
  for (const line of lines) console.error(line);
  // `npm test` promises its last line, however far it came.
  if (process.env.npm_lifecycle_event === 'test') console.log('0 passed, 1 failed');
  process.exit(1);
}
