/** The public conformance suite's client scenarios through the runtime, threads and all, one at a time. */
import { describe, expect, it } from 'vitest';
import { runScenario, scenariosOf, suites } from './suite.mjs';

for (const suite of suites) {
  for (const version of suite.versions) {
    const scenarios = await scenariosOf(suite, version);
    describe(`conformance suite ${suite.name}${version === undefined ? '' : `, revision ${version}`}`, () => {
      it('has scenarios', () => expect(scenarios.length).toBeGreaterThan(15));
      it.each(scenarios)('%s', async (scenario) => {
        const { passed, checks, output } = await runScenario(suite, version, scenario);
        expect(passed, `${checks}\n${output.slice(-4_000)}`).toBe(true);
      });
    });
  }
}
