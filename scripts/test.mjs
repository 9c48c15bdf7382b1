#!/usr/bin/env node
/**
 * `npm test`: the checks, then vitest. `npm run test:long` (`--long`): the tests of `*.long.test.ts` alone, which take minutes. Other
 * arguments go to vitest (`npm test -- framing`). The last line is always `N passed, N failed`, a check counting like a test;
 * the exit code is not 0 when anything failed.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './check.mjs';
import { runTool } from './tool.mjs';

const args = process.argv.slice(2);
const isLong = args[0] === '--long';
if (isLong) process.env.BULKHEAD_TESTS = 'long'; // for vitest.config.ts
const checks = isLong ? [] : check();
const tests = runTests(isLong ? args.slice(1) : args);
const passed = checks.filter((step) => step.passed).length + tests.passed;
const failed = checks.filter((step) => !step.passed).length + tests.failed;
process.exitCode = failed > 0 ? 1 : 0;
console.log(`${passed} passed, ${failed} failed`);

function runTests(args) {
  const directory = mkdtempSync(join(tmpdir(), 'bulkhead-report-'));
  const file = join(directory, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const clean = runTool('vitest', 'vitest', ['run', ...reporters, ...args]);
    const counts = countsOf(file);
    // An unhandled error, or a run that ended before its report, fails without a test that failed.
    if (!clean && counts.failed === 0) counts.failed = 1;
    return counts;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function countsOf(file) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 0 };
  }
  // A file that could not even be loaded has no tests to count.
  const broken = report.testResults.filter(
    (suite) => suite.status === 'failed' && suite.assertionResults.length === 0,
  );
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length };
}
