/** The public conformance suite's server scenarios against `bulkhead serve`, with a server behind it that offers what they ask for. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inapplicable, startServed } from './served.mjs';
import { runServerScenario, serverScenariosOf, suites } from './suite.mjs';

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-conformance-')));
let served: Awaited<ReturnType<typeof startServed>>;

beforeAll(async () => {
  served = await startServed(join(directory, 'servers.json'));
});
afterAll(async () => {
  await served.close();
  rmSync(directory, { recursive: true, force: true });
});

// The later suite has every scenario of the earlier one. The SDK's server classes that serve speaks through know the
// revisions before 2026-07-28.
const suite = suites.at(-1);
const version = '2025-11-25';
if (suite === undefined) throw new Error('there is no conformance suite');
const scenarios = (await serverScenariosOf(suite, version)).filter((name) => !inapplicable.has(name));

describe(`conformance suite ${suite.name}, revision ${version}, a server`, () => {
  it('has scenarios', () => expect(scenarios.length).toBeGreaterThan(30));
  it.each(scenarios)('%s', async (scenario) => {
    const { passed, output } = await runServerScenario(suite, version, scenario, served.url);
    expect(passed, output.slice(-4_000)).toBe(true);
  });
});
