/** A directory of its own for every test, removed afterwards. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** Installs the hooks; the function gives the current test's directory, or a path inside it. */
export function useTempDir(): (...names: string[]) => string {
  let directory = '';
  beforeEach(() => {
    directory = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-test-')));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return (...names) => join(directory, ...names);
}
