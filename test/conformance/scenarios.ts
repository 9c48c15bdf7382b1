/** The client scenarios of one suite and revision as tests, one at a time, through the runtime, threads and all. */
import { describe, expect, it } from 'vitest';
import { runScenario, scenariosOf, type suites } from './suite.mjs';

export async function describeScenarios(
  suite: (typeof suites)[number],
  version: string | undefined,
): Promise<void> {
  const scenarios = await scenariosOf(suite, version);
  describe(`conformance suite ${suite.name}${version === undefined ? '' : `, revision ${version}`}`, () => {
    it('has scenarios', () => expect(scenarios.length).toBeGreaterThan(15));
    it.each(scenarios)('%s', async (scenario) => {
      const { passed, checks, output } = await runScenario(suite, version, scenario);
      expect(passed, `${checks}\n${output.slice(-4_000)}`).toBe(true);
    });
  });
}
