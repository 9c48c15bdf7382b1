#!/usr/bin/env node
/**
 * `npm run chaos -- --minutes N` (default 1) or `--seconds N`; `--seed S` repeats what a run drew. From 30 s on the
 * supervisor is killed as well, once a minute. The last line is `chaos: N calls, 0 violations`; exit code 1 otherwise.
 */
import { parseArgs } from 'node:util';
import { runNode } from './tool.mjs';

const SUPERVISOR_KILL_FROM_SECONDS = 30;
const SUPERVISOR_KILL_AT_MS = 20_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string' },
    'kill-supervisor': { type: 'string' },
  },
});
const seconds = values.seconds === undefined ? 60 * Number(values.minutes ?? 1) : Number(values.seconds);
if (!(seconds > 0)) {
  console.error('chaos: expected --minutes or --seconds to be a number above 0');
  process.exit(2);
}
const kill =
  values['kill-supervisor'] ??
  (seconds < SUPERVISOR_KILL_FROM_SECONDS ? 'never' : String(SUPERVISOR_KILL_AT_MS));
const args = ['--seconds', String(seconds), '--kill-supervisor', kill];
if (values.seed !== undefined) args.push('--seed', values.seed);
if (!runNode(['--unhandled-rejections=strict', 'test/chaos/chaos.mjs', ...args])) process.exitCode = 1;
