/**
 * The public conformance suite, one scenario at a time, against our runtime. Two versions of the suite: the released
 * one for 2025-11-25, and the coming one, which knows 2026-07-28 as well.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));
const client = join(here, 'client.mjs');

/** Scored scenarios are those of a dated revision; drafts and extensions are run where they pass, see `unscored`. */
export const suites = [
  { name: '0.1.16', entry: entryOf('@modelcontextprotocol/conformance'), versions: [undefined] },
  { name: '0.2.0-alpha.12', entry: entryOf('conformance-next'), versions: ['2025-11-25', '2026-07-28'] },
];

/** The coming suite asks about 2025-11-25 too, nearly what the released one asks: once a day is enough. */
export function isRepeated({ name }, version) {
  return name !== '0.1.16' && version === '2025-11-25';
}

/** Extension scenarios of things that we do not offer; the suite does not score them. */
export const unscored = [/cross-app|enterprise|dpop|wif|sep-2640/];

function entryOf(name) {
  return join(dirname(require.resolve(`${name}/package.json`)), 'dist/index.js');
}

/** Client scenarios of a suite for a version of the protocol (all that it has, when it takes none). */
export function scenariosOf(suite, version) {
  return listed(suite, version, '--client');
}

/** The same for servers. */
export function serverScenariosOf(suite, version) {
  return listed(suite, version, '--server');
}

async function listed({ entry }, version, side) {
  const { output } = await cli(entry, ['list', side, ...(version ? ['--spec-version', version] : [])]);
  const names = [...output.matchAll(/^\s+- (\S+)/gm)].map(([, name]) => name);
  return names.filter((name) => !unscored.some((pattern) => pattern.test(name)));
}

/** @returns {Promise<{passed: boolean, checks: string, output: string}>} */
export async function runScenario({ entry }, version, scenario) {
  const { code, output } = await cli(entry, [
    'client',
    '--command',
    `${process.execPath} ${client}`,
    '--scenario',
    scenario,
    '--timeout',
    '45000',
    ...(version ? ['--spec-version', version] : []),
  ]);
  const checks = /^Passed: .*$/m.exec(output)?.[0] ?? 'no result';
  return { passed: code === 0 && /OVERALL: PASSED/.test(output), checks, output };
}

/** @returns {Promise<{passed: boolean, output: string}>} */
export async function runServerScenario({ entry }, version, scenario, url) {
  const { code, output } = await cli(entry, [
    'server',
    '--url',
    url,
    '--scenario',
    scenario,
    ...(version ? ['--spec-version', version] : []),
  ]);
  return { passed: code === 0, output };
}

function cli(entry, args) {
  const child = spawn(
    process.execPath,
    ['--import', new URL('./node20.mjs', import.meta.url).href, entry, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: tmpdir(),
      env: { ...process.env, NO_COLOR: '1' },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}
