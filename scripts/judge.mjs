/**
 * What the usual judges say about a tarball: publint about the manifest and its files, Are The Types Wrong about what a
 * compiler finds under each resolution. Both work on the file alone.
 */
import { readFileSync } from 'node:fs';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

/** The packages are ES modules with subpaths: `require` gives a module, and the resolution before `exports` knows no subpath. */
const INTENDED = new Set(['CJSResolvesToESM', 'NoResolution']);

/** @returns one line per complaint */
export async function judge(tarball) {
  const data = readFileSync(tarball);
  return [...(await manifestProblems(data)), ...(await typeProblems(data))];
}

async function manifestProblems(data) {
  const { messages, pkg } = await publint({
    // Its own copy: the buffer of a file is a view of a larger one.
    pack: { tarball: new Uint8Array(data).buffer },
    level: 'warning',
    strict: true,
  });
  return messages.map((message) => `${pkg.name}: ${formatMessage(message, pkg, { color: false })}`);
}

async function typeProblems(data) {
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(data)));
  if (analysis.types === false) return []; // a command has none
  return analysis.problems
    .filter(({ kind, resolutionKind }) => !(INTENDED.has(kind) && /^node(10|16-cjs)$/.test(resolutionKind)))
    .map((problem) => `${analysis.packageName}: ${JSON.stringify(problem)}`);
}
