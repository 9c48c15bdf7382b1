/**
 * npm as a person would run it: with their registry and cache, without what an enclosing `npm run` hands down. Also
 * what the scripts need and the workspace cannot hold, because it asks for a newer Node than ours: installed on first use.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tool.mjs';

/** Settings that say where packages come from. A mirror that was set by the environment must hold for whatever we start. */
const KEPT = /^npm_config_(?:registry|https?_proxy|proxy|noproxy|cafile|ca|strict_ssl|userconfig|cache)$/i;

/** Our environment for a package manager: what `npm run` hands down describes our own run, and pnpm would obey it. */
export function npmEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || KEPT.test(name)),
  );
}

/**
 * @param {string[]} args of npm
 * @param {string} cwd
 * @returns {string} what it printed on stdout
 * @throws when it exits with anything but 0; the message holds its last lines
 */
export function npm(args, cwd) {
  return run('npm', args, cwd);
}

/** The same for another command of npm's: `npx`. */
export function run(program, args, cwd) {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env: npmEnvironment(),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm is a batch file there.
    shell: process.platform === 'win32',
  });
  if (error) throw error;
  if (status !== 0) {
    const tail = `${stdout}\n${stderr}`.trim().split('\n').slice(-30).join('\n');
    throw new Error(`${program} ${args.join(' ')} exited with ${status} in ${cwd}:\n${tail}`);
  }
  return stdout;
}

/** Installs exactly `packages` into `directory`, without install scripts and peers; nothing when they are there. */
export function installOnce(directory, packages) {
  const stamp = join(directory, 'installed.json');
  const wanted = JSON.stringify(packages);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
  npm(
    ['install', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', ...packages],
    directory,
  );
  writeFileSync(stamp, wanted);
}

/** @returns {string} the program of a Node of that major, from the registry's package for this platform */
export function nodeProgram(major) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const directory = join(root, `node_modules/.cache/bulkhead-node${major}`);
  installOnce(directory, [`${name}@${major}`]);
  return join(directory, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}
