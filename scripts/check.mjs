#!/usr/bin/env node
/** Format, lint and types: what can be known without running anything. */
import { fileURLToPath } from 'node:url';
import { runTool } from './tool.mjs';

const STEPS = [
  {
    name: 'format and lint',
    run: () => runTool('@biomejs/biome', 'biome', ['check', '--error-on-warnings']),
  },
  { name: 'types of the packages', run: () => runTool('typescript', 'tsc', ['-b']) },
  { name: 'types of the tests', run: () => runTool('typescript', 'tsc', ['-p', 'test']) },
];

/** Runs every step, whatever the others say. @returns {{name: string, passed: boolean}[]} */
export function check() {
  return STEPS.map(({ name, run }) => {
    const passed = run();
    console.log(`${passed ? '✓' : '✗'} ${name}`);
    return { name, passed };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url) && check().some(({ passed }) => !passed)) {
  process.exitCode = 1;
}
