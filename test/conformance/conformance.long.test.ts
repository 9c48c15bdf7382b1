/** What the coming suite asks of a revision that the released one asks about as well. */
import { describeScenarios } from './scenarios.js';
import { isRepeated, suites } from './suite.mjs';

for (const suite of suites) {
  for (const version of suite.versions) {
    if (isRepeated(suite, version)) await describeScenarios(suite, version);
  }
}
