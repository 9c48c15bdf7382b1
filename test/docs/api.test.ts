/** The reference: every entry that a package exports is in it, and everything public is explained where it is declared. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { publicEntries } from '../../scripts/public-entries.mjs';
import { useTempDir } from '../support/temp-dir.js';
import { root } from './markdown.js';

const temp = useTempDir();

interface Reflection {
  name: string;
  children?: Reflection[];
}

/** It compiles all packages; on two busy cores that takes its time. */
const REFERENCE_MAX_MS = 240_000;

it('every public symbol is documented and every link in a comment leads somewhere', {
  timeout: REFERENCE_MAX_MS,
}, async () => {
  const file = temp('api.json');
  const args = ['scripts/api-docs.mjs', '--json', file, '--logLevel', 'Warn'];
  // What is missing is named on the standard output of a failure.
  const end = await promisify(execFile)(process.execPath, args, { cwd: root }).catch((error) => error);
  expect(`${end.stdout}${end.stderr}`).toBe('');

  const specifiers = publicEntries().map(({ specifier }) => specifier);
  expect(specifiers).toContain('@bulkhead/runtime/agent');
  const { children = [] } = JSON.parse(await readFile(file, 'utf8')) as Reflection;
  expect(children.map(({ name }) => name).sort()).toEqual([...specifiers].sort());
  const runtime = children.find(({ name }) => name === '@bulkhead/runtime');
  expect(runtime?.children?.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['createRuntime', 'Runtime', 'RuntimeOptions', 'BulkheadError', 'loadConfig']),
  );
});
