/** What npm gets: the tarballs' contents, their manifests, and what the usual judges of packages say. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { judge } from '../../scripts/judge.mjs';
import { type Packed, packAll } from '../../scripts/pack.mjs';

// Compilers and installs, on cores that are busy with other tests.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });

const names = ['@bulkhead/workers', '@bulkhead/runtime', '@bulkhead/cluster', '@bulkhead/cli'];
/** Nobody should wait for more; raise it when something that is worth it was added. */
const MAX_TARBALL_BYTES = 1_000_000;

let directory = '';
const tarballs = new Map<string, Packed>();
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'bulkhead-packed-'));
  for (const packed of packAll(directory)) tarballs.set(packed.name, packed);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function packed(name: string): Packed {
  const found = tarballs.get(name);
  if (found === undefined) throw new Error(`${name} was not packed`);
  return found;
}

/** One file of the tarball. */
function file(name: string, path: string): Buffer {
  return execFileSync('tar', ['-xzOf', packed(name).tarball, `package/${path}`], {
    maxBuffer: 16 * 1024 * 1024,
  });
}

interface Manifest {
  license: string;
  engines: { node: string };
  exports: Record<string, string | { types: string; default: string }>;
  sideEffects: boolean | string[];
  bin?: Record<string, string>;
  dependencies: Record<string, string>;
}
const manifest = (name: string) => JSON.parse(file(name, 'package.json').toString()) as Manifest;

it('every package of the workspace is packed', () => {
  expect([...tarballs.keys()]).toEqual(names);
});

describe.each(names)('the tarball of %s', (name) => {
  it('holds the compiled files, a licence and a page, and nothing of the workshop', () => {
    const { files } = packed(name);
    expect(files).toEqual(expect.arrayContaining(['package.json', 'LICENSE', 'README.md']));
    const allowed =
      /^(package\.json|LICENSE|README\.md|bin\/\w+\.mjs|dist\/.+\.(js|d\.ts|html|css|svg)|dist\/THIRD-PARTY-NOTICES\.txt)$/;
    expect(files.filter((path) => !allowed.test(path))).toEqual([]);
  });

  it('says the licence, the Node it needs, and versions that npm knows', () => {
    const { license, engines, dependencies } = manifest(name);
    expect({ license, engines }).toEqual({ license: 'Apache-2.0', engines: { node: '>=20.19' } });
    expect(Object.entries(dependencies).filter(([, range]) => !/^[\^~]?\d/.test(range))).toEqual([]);
    expect(file(name, 'LICENSE').toString()).toContain('Apache License');
  });

  it('holds every file that its manifest names', () => {
    const { exports, bin, sideEffects } = manifest(name);
    const targets = [
      ...Object.values(exports).flatMap((at) => (typeof at === 'string' ? at : Object.values(at))),
    ];
    targets.push(...Object.values(bin ?? {}));
    if (Array.isArray(sideEffects)) targets.push(...sideEffects.filter((path) => !path.includes('*')));
    const { files } = packed(name);
    expect(targets.length).toBeGreaterThan(0);
    expect(targets.filter((path) => !files.includes(path.replace(/^\.\//, '')))).toEqual([]);
  });

  it('says where none of its files lay when it was built', () => {
    const root = new URL('../..', import.meta.url).pathname;
    const text = execFileSync('tar', ['-xzOf', packed(name).tarball], { maxBuffer: 64 * 1024 * 1024 });
    expect(text.includes(root)).toBe(false);
  });

  it('pleases publint and Are The Types Wrong', async () => {
    expect(await judge(packed(name).tarball)).toEqual([]);
  });

  it('is small', () => {
    const { size } = statSync(packed(name).tarball);
    expect(size).toBeLessThan(MAX_TARBALL_BYTES);
  });
});

it('the threads are there, each as one entry, and no chunk of an earlier build', () => {
  const threads = packed('@bulkhead/workers').files.filter((path) => path.startsWith('dist/threads/'));
  for (const entry of ['supervisor', 'server', 'pool']) expect(threads).toContain(`dist/threads/${entry}.js`);
  const code = threads.map((path) => file('@bulkhead/workers', path).toString()).join('\n');
  const chunks = threads.filter((path) => path.includes('/chunk-'));
  expect(chunks.length).toBeGreaterThan(0);
  expect(chunks.filter((path) => !code.includes(path.slice('dist/threads/'.length)))).toEqual([]);
});

it.each([
  ['@bulkhead/workers', ['@modelcontextprotocol/sdk', 'ajv', 'comlink', 'undici', 'zod']],
  ['@bulkhead/cli', ['commander', 'zod']],
])('the notices of %s name what is bundled and hold its licence', (name, bundled) => {
  const notices = file(name, 'dist/THIRD-PARTY-NOTICES.txt').toString();
  for (const dependency of bundled) expect(notices).toMatch(new RegExp(`^${dependency}@\\d`, 'm'));
  expect(notices).toContain('Permission is hereby granted, free of charge');
  // What is ours needs no notice.
  expect(notices).not.toContain('@bulkhead/');
});
