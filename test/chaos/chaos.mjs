#!/usr/bin/env node
/**
 * The chaos run: a host with fourteen servers, five of which misbehave at random, under constant load. The bad ones may
 * cost their own calls and nothing else. Ends with `chaos: N calls, 0 violations`, or with the list and exit code 1.
 *
 *   --seconds N (20)   --seed S (drawn)   --kill-supervisor never | <ms after the start> (never); repeated once a minute
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRuntime } from '@bulkhead/runtime';
import { Book } from './book.mjs';
import { limits, makeCast } from './cast.mjs';
import { load } from './load.mjs';
import { mischief } from './mischief.mjs';
import { Stage } from './stage.mjs';
import { table } from './table.mjs';
import { Watch } from './watch.mjs';

/** Fourteen processes and threads at once, on a machine that may have other work. */
const READY_MS = 60_000;
const LEDGER_MS = 2_000;
/** The runtime gives up at the third loss within 60 s. */
const SUPERVISOR_KILL_EVERY_MS = 61_000;
/** After close() nothing is pending any more: what has not ended by then never will. */
const CALLS_END_MS = 5_000;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    'kill-supervisor': { type: 'string', default: 'never' },
  },
});
const seconds = numberOf('seconds');
const seed = numberOf('seed');
const killAtMs =
  values['kill-supervisor'] === 'never' ? Number.POSITIVE_INFINITY : numberOf('kill-supervisor');

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-chaos-')));
// Run files of other runtimes are none of this run's business.
process.env.XDG_RUNTIME_DIR = join(directory, 'run');
process.env.XDG_STATE_HOME = join(directory, 'state');
const stage = new Stage(seed, randomUUID());
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => stage.violation(`${event}: ${error?.stack ?? error}`));

const cast = makeCast(directory, seed, stage.run);
const rows = cast.map((server) => ({ ...server, book: new Book(server, stage.violation) }));
const bad = cast.filter(({ kind }) => kind === 'bad').length;
console.log(
  `seed ${seed}: ${cast.length} servers, ${bad} of them bad, for ${seconds} s; supervisor killed ` +
    (killAtMs === Number.POSITIVE_INFINITY ? 'never' : `after ${killAtMs / 1_000} s, then once a minute`),
);

const watch = new Watch(stage, directory);
const servers = Object.fromEntries(cast.map(({ name, entry }) => [name, entry]));
stage.runtime = await createRuntime({ servers, limits, logDir: join(directory, 'logs') });
watch.begin(stage.runtime, cast);
const good = cast.filter(({ kind }) => kind !== 'bad').map(({ name }) => name);
const { ready, failed } = await stage.runtime.ready({ servers: good, timeoutMs: READY_MS });
for (const { name, state, reason } of failed)
  stage.violation(`${name} did not start: ${state}, ${reason?.message ?? 'no reason given'}`);

const loads = rows.filter(({ name }) => ready.includes(name)).map((row) => load(stage, row, row.book));
const mischiefs = rows.filter(({ kind }) => kind === 'bad').map((row) => mischief(stage, row, row.book));
await play();
await Promise.all(loads);
stage.closed = true;
const report = await stage.runtime.close();
const ended = new AbortController();
await Promise.race([
  Promise.all(mischiefs).then(() => ended.abort()),
  wait(CALLS_END_MS, undefined, { signal: ended.signal }).catch(() => undefined),
]);
const facts = await watch.end(report);
const executions = rows.reduce((sum, { book }) => sum + book.settle(), 0);
rmSync(directory, { recursive: true, force: true });

console.log(`\n${table(rows, stage.counts)}\n`);
for (const fact of facts) console.log(fact);
console.log(`${executions} executions in the servers' own ledgers`);
for (const text of stage.violations) console.error(`violation: ${text}`);
const calls = rows.reduce((sum, { book }) => sum + book.calls, 0);
console.log(`chaos: ${calls} calls, ${stage.violationCount} violations`);
process.exitCode = stage.violationCount > 0 ? 1 : 0;

/** Lets the actors play until the time is over. */
async function play() {
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1_000;
  let ledgerAt = startedAt + LEDGER_MS;
  let killAt = startedAt + killAtMs;
  for (;;) {
    const next = Math.min(endAt, ledgerAt, killAt);
    await wait(Math.max(0, next - performance.now()));
    if (next === endAt) break;
    if (next === killAt) {
      await watch.killSupervisor();
      killAt = performance.now() + SUPERVISOR_KILL_EVERY_MS;
    } else {
      for (const { book } of rows) book.readLedger();
      ledgerAt = performance.now() + LEDGER_MS;
    }
  }
  stage.over = true;
}

function numberOf(name) {
  const number = Number(values[name]);
  if (Number.isFinite(number) && number >= 0) return number;
  console.error(`--${name}: expected a number of at least 0, got "${values[name]}"`);
  process.exit(2);
}
