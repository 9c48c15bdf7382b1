/** `npm run conformance`: every scored client scenario, one at a time, with the totals. */
import { runScenario, scenariosOf, suites } from './suite.mjs';

let failed = 0;
for (const suite of suites) {
  for (const version of suite.versions) {
    const scenarios = await scenariosOf(suite, version);
    let passed = 0;
    console.log(
      `suite ${suite.name}${version ? `, revision ${version}` : ''}: ${scenarios.length} scenarios`,
    );
    for (const scenario of scenarios) {
      const result = await runScenario(suite, version, scenario);
      if (result.passed) passed++;
      else failed++;
      console.log(`  ${result.passed ? '✓' : '✗'} ${scenario}  ${result.checks}`);
    }
    console.log(`  ${passed} of ${scenarios.length} passed\n`);
  }
}
process.exitCode = failed === 0 ? 0 : 1;
