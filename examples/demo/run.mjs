#!/usr/bin/env node
/**
 * The demo: five real servers, one of which never answers, and a thousand calls in one batch. The hanging server may
 * cost its own calls and nothing else. Exit code 0 when that held, 1 with every difference named when it did not.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCalls } from './calls.mjs';
import { leftovers } from './leftovers.mjs';
import { makeSetting, RUN_VARIABLE } from './setting.mjs';
import { compare, compareGraph } from './verdict.mjs';

/** The batch ran to its end, and some call was not ok: what a hanging server must lead to. */
const SOME_CALL_NOT_OK = 5;
const SHOWN_MAX = 20;

const root = fileURLToPath(new URL('../..', import.meta.url));
const cli = join(root, 'packages/cli/dist/main.js');
if (!existsSync(cli)) {
  console.error(`${relative(root, cli)} is missing. Run: npm run build`);
  process.exit(1);
}

const output = join(root, 'demo-output');
const run = randomUUID();
const setting = makeSetting(output, run);
const calls = makeCalls(setting);
const input = join(output, 'calls.jsonl');
const results = join(output, 'results.jsonl');
writeFileSync(input, calls.map(({ expect, ...call }) => `${JSON.stringify(call)}\n`).join(''));

const shown = (path) => relative(root, path);
const words = [
  'batch',
  shown(input),
  '--config',
  shown(setting.config),
  '--out',
  shown(results),
  '--concurrency',
  '64',
];
console.log(`$ bulkhead ${words.join(' ')}`);
// Ctrl-C reaches the whole group: the batch ends in order, and this process reports it.
process.on('SIGINT', () => undefined);
const startedAt = performance.now();
const child = spawn(process.execPath, [cli, ...words], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, [RUN_VARIABLE]: run },
});
const [code, signal] = await once(child, 'exit');
const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);

const differences = [];
if (code !== SOME_CALL_NOT_OK) {
  differences.push(
    `The batch ended with ${signal ?? `exit code ${code}`}, not with exit code ${SOME_CALL_NOT_OK}.`,
  );
}
if (existsSync(results)) differences.push(...compare(calls, results), ...compareGraph(calls, setting.graph));
else differences.push(`There is no ${shown(results)}.`);
const left = await leftovers(RUN_VARIABLE, run);
differences.push(...left.map((process) => `A process is left: ${process}`));

if (differences.length > 0) {
  console.error(`\nNot as it should be (${differences.length} differences):`);
  for (const difference of differences.slice(0, SHOWN_MAX)) console.error(`  ${difference}`);
  if (differences.length > SHOWN_MAX) console.error(`  … and ${differences.length - SHOWN_MAX} more.`);
  process.exit(1);
}
const hung = calls.filter(({ expect }) => expect === undefined).length;
console.log(
  `\n${calls.length - hung} calls to four servers were answered, each with its own answer, while ${hung} calls to a hanging ` +
    `server ended as timeouts (${seconds} s in all).`,
);
console.log(`No process is left. Calls, config and results are in ${shown(output)}/.`);
