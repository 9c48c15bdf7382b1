#!/usr/bin/env node
/**
 * `npm run mutation [-- words]`: changes the pure policies one operator at a time and counts which changes a unit test
 * notices. Words choose the files whose path holds one. Stryker needs a newer Node than Bulkhead: both are installed on
 * first use into node_modules/.cache, without install scripts. Prints a table; the report with every mutant lies beside it.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installOnce, nodeProgram } from './npm.mjs';
import { root } from './tool.mjs';

const STRYKER = ['@stryker-mutator/core@10.1.1', '@stryker-mutator/vitest-runner@10.1.1'];

/** Policies that import nothing of Node and the tests of each. Effects are covered by tests with real processes. */
const POLICIES = new Map([
  ['packages/workers/src/supervisor/restart.ts', ['restart']],
  ['packages/workers/src/supervisor/transitions.ts', ['transitions']],
  ['packages/workers/src/supervisor/watchdog.ts', ['watchdog']],
  ['packages/workers/src/supervisor/gate.ts', ['gate']],
  ['packages/workers/src/server/framing.ts', ['framing']],
  ['packages/workers/src/server/noise.ts', ['noise']],
  ['packages/workers/src/id-table.ts', ['id-table']],
  ['packages/runtime/src/breaker.ts', ['breaker']],
  ['packages/runtime/src/mailbox.ts', ['mailbox']],
  ['packages/runtime/src/latency.ts', ['latency']],
  ['packages/runtime/src/naming.ts', ['naming']],
  ['packages/runtime/src/batch/schedule.ts', ['batch-schedule', 'batch-parts']],
  ['packages/runtime/src/batch/rate.ts', ['batch-pacing']],
  ['packages/runtime/src/batch/retry.ts', ['batch-pacing']],
  ['packages/runtime/src/batch/line-set.ts', ['line-set']],
  ['packages/runtime/src/batch/template.ts', ['batch-map']],
]);

const cache = join(root, 'node_modules/.cache/bulkhead-mutation');
const words = process.argv.slice(2);
const chosen = [...POLICIES].filter(
  ([path]) => words.length === 0 || words.some((word) => path.includes(word)),
);
if (chosen.length === 0) {
  console.error(`No policy has ${words.map((word) => `"${word}"`).join(' or ')} in its path. There are:`);
  for (const path of POLICIES.keys()) console.error(`  ${path}`);
  process.exit(2);
}

// The runner must load the vitest of this workspace and not bring its own: it lies below, without peers.
installOnce(cache, STRYKER);
const report = join(cache, 'mutation.json');
const { status } = spawnSync(
  nodeProgram(24),
  [join(cache, 'node_modules/@stryker-mutator/core/bin/stryker.js'), 'run', configFile()],
  {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  },
);
if (status !== 0) process.exit(1);
console.log(table(JSON.parse(readFileSync(report, 'utf8'))));

function configFile() {
  const vitest = join(cache, 'vitest.config.mjs');
  const tests = [...new Set(chosen.flatMap(([, names]) => names))].map((name) => `test/unit/${name}.test.ts`);
  writeFileSync(
    vitest,
    `export default ${JSON.stringify({ test: { include: tests, setupFiles: ['test/support/homes.ts'], testTimeout: 60_000 } })};\n`,
  );
  const config = join(cache, 'stryker.config.json');
  writeFileSync(
    config,
    JSON.stringify({
      mutate: chosen.map(([path]) => path),
      testRunner: 'vitest',
      plugins: [join(cache, 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js')],
      vitest: { configFile: vitest },
      coverageAnalysis: 'perTest',
      concurrency: 2,
      // A mutant that loops for ever is known by the clock; a busy machine is not such a mutant.
      timeoutMS: 10_000,
      tempDirName: '.stryker-tmp',
      // Stryker would rewrite a tsconfig with the programming interface that TypeScript 7 no longer has.
      tsconfigFile: 'none',
      ignorePatterns: ['bench', 'docs', 'demo-output', '.bulkhead', 'packages/*/dist'],
      reporters: ['json', 'progress-append-only'],
      jsonReporter: { fileName: report },
      allowEmpty: true,
    }),
  );
  return config;
}

function table({ files }) {
  const lines = ['| policy | mutants | noticed | survived | score |', '|---|---|---|---|---|'];
  const total = { killed: 0, survived: 0 };
  for (const [path, { mutants }] of Object.entries(files)) {
    const killed = count(mutants, 'Killed', 'Timeout');
    const survived = count(mutants, 'Survived', 'NoCoverage');
    total.killed += killed;
    total.survived += survived;
    lines.push(row(`\`${path.replace(/^packages\//, '')}\``, killed, survived));
  }
  return [...lines, row('all', total.killed, total.survived)].join('\n');
}

function count(mutants, ...statuses) {
  return mutants.filter(({ status }) => statuses.includes(status)).length;
}

function row(name, killed, survived) {
  const all = killed + survived;
  return `| ${name} | ${all} | ${killed} | ${survived} | ${all === 0 ? '–' : `${((100 * killed) / all).toFixed(1)} %`} |`;
}
