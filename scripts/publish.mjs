#!/usr/bin/env node
/**
 * Publishes what is not on npm yet, from tarballs, the lowest layer first. Run by the workflow `publish`: npm signs the
 * provenance only there. `--dry-run` packs and asks npm what it would do.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm } from './npm.mjs';
import { packAll } from './pack.mjs';
import { root } from './tool.mjs';

const dryRun = process.argv.includes('--dry-run');
const directory = mkdtempSync(join(tmpdir(), 'bulkhead-publish-'));
const restore = sayWhereFrom();
try {
  for (const { name, version, tarball } of packAll(directory)) {
    if (isPublished(name, version)) {
      console.log(`${name}@${version} is on npm already`);
      continue;
    }
    npm(['publish', tarball, '--access', 'public', dryRun ? '--dry-run' : '--provenance'], directory);
    // The workflow makes a tag of this line.
    console.log(`${dryRun ? 'Would publish' : 'New tag:'} ${name}@${version}`);
  }
} finally {
  restore();
  rmSync(directory, { recursive: true, force: true });
}

/** npm checks the provenance against `repository`; only the workflow knows the address. Gives what takes it back. */
function sayWhereFrom() {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
  if (repository === undefined) return () => {};
  const before = new Map();
  for (const name of ['workers', 'runtime', 'cluster', 'cli']) {
    const path = join(root, 'packages', name, 'package.json');
    before.set(path, readFileSync(path, 'utf8'));
    const manifest = JSON.parse(before.get(path));
    const url = `git+${server ?? 'https://github.com'}/${repository}.git`;
    manifest.repository = { type: 'git', url, directory: `packages/${name}` };
    writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  return () => {
    for (const [path, text] of before) writeFileSync(path, text);
  };
}

function isPublished(name, version) {
  try {
    return npm(['view', `${name}@${version}`, 'version'], directory).trim() === version;
  } catch (error) {
    if (/E404|ETARGET/.test(error.message)) return false;
    throw error;
  }
}
