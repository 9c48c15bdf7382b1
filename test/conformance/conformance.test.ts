/** The public conformance suite's client scenarios: the released suite, and the coming one for the revision that is new. */
import { describeScenarios } from './scenarios.js';
import { isRepeated, suites } from './suite.mjs';

for (const suite of suites) {
  for (const version of suite.versions) {
    if (!isRepeated(suite, version)) await describeScenarios(suite, version);
  }
}
