/** Every test file has a cache, a state and a config home of its own: nothing of the machine decides a test, or outlives it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const home = mkdtempSync(join(tmpdir(), 'bulkhead-home-'));
for (const name of ['CACHE', 'STATE', 'CONFIG'])
  process.env[`XDG_${name}_HOME`] = join(home, name.toLowerCase());

afterAll(() => rmSync(home, { recursive: true, force: true }));
