/**
 * A distributed batch under fire: three workers, one store, the submitter killed, one worker killed, one frozen and thawed,
 * the store restarted, all in mid-run; then the books are compared. `--quick` has shorter locks, and fewer calls in flight. The last line is
 * `N passed, N failed`; exit code 1 when anything failed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openCluster } from '@bulkhead/cluster';
import { startRedis } from '../../../scripts/redis.mjs';
import { generator } from '../../chaos/random.mjs';
import { Acts } from './acts.mjs';
import { leftOf } from './alive.mjs';
import { Books } from './books.mjs';
import { lineOf, makeCalls } from './calls.mjs';
import { chunksOf } from './chunks.mjs';
import { Fleet } from './fleet.mjs';
import { submitTwice } from './submission.mjs';
import { check, judge, readResults } from './verdict.mjs';

const SERVER = fileURLToPath(new URL('./server.mjs', import.meta.url));

/** A kill, a freeze, a restart, a thaw. */
const ACTS = 4;
const LEFT_GRACE_MS = 10_000;

/** How long a run takes that nothing happens to: answers are slow enough for that. */
const PACES = {
  whole: { plannedMs: 60_000, concurrency: 32, freezeMs: 20_000, limits: undefined },
  quick: {
    plannedMs: 8_000,
    concurrency: 8,
    freezeMs: 4_000,
    limits: { lockMs: 1_500, stalledEveryMs: 500, leaseMs: 1_000, beatMs: 250 },
  },
};

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '100000' },
    workers: { type: 'string', default: '3' },
    seed: { type: 'string' },
    redis: { type: 'string', default: 'kill' },
    quick: { type: 'boolean', default: false },
  },
});
const calls = Number(values.calls);
const workers = Number(values.workers);
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const redisSignal = { kill: 'SIGKILL', term: 'SIGTERM' }[values.redis];
if (!(Number.isInteger(calls) && calls >= 1_000) || !(Number.isInteger(workers) && workers >= 3)) {
  console.error('test:cluster: expected --calls of 1000 or more and --workers of 3 or more');
  process.exit(2);
}
if (redisSignal === undefined) {
  console.error(`test:cluster: expected --redis to be kill or term, got ${values.redis}`);
  process.exit(2);
}

const { plannedMs, concurrency, freezeMs, limits } = values.quick ? PACES.quick : PACES.whole;
const delayMs = (plannedMs * workers * concurrency) / calls;
console.log(`${calls} calls, ${workers} workers with ${concurrency} in flight each, seed ${seed}`);

const dir = mkdtempSync(join(tmpdir(), 'bulkhead-hard-'));
const paths = Object.fromEntries(
  ['calls.jsonl', 'mcp.json', 'ledger', 'results.jsonl'].map((name) => [name, join(dir, name)]),
);
const list = makeCalls({ calls, seed });
writeFileSync(paths['calls.jsonl'], list.map((call) => `${lineOf(call)}\n`).join(''));
const server = {
  command: process.execPath,
  args: [SERVER, JSON.stringify({ ledger: paths.ledger, delayMs })],
};
writeFileSync(paths['mcp.json'], JSON.stringify({ mcpServers: { ledger: server } }));

const books = new Books(paths.ledger);
const fleet = new Fleet(dir);
const redis = await startRedis();
process.once('SIGTERM', () => {
  fleet.abandon();
  void redis.stop().finally(() => {
    rmSync(dir, { recursive: true, force: true });
    process.exit(143);
  });
});
try {
  if (!(await report(await run()))) process.exitCode = 1;
} finally {
  fleet.abandon();
  await redis.stop();
  books.close();
  rmSync(dir, { recursive: true, force: true });
}

async function run() {
  const say = (text) => console.log(text);
  const random = generator(seed, 'acts');
  const acts = new Acts({ calls, books, fleet, redis, random, freezeMs, redisSignal, say });
  const cluster = await openCluster({ redis: redis.url });
  try {
    const startedAt = performance.now();
    fleet.start(workers, { redis: redis.url, config: paths['mcp.json'], concurrency, limits });
    const { id } = await submitTwice(cluster, {
      redis: redis.url,
      input: paths['calls.jsonl'],
      batch: `hard-${seed}`,
      calls,
      say,
    });
    const collected = cluster.results(id, {
      output: paths['results.jsonl'],
      follow: true,
      onProgress: ({ have }) => acts.progress(have),
    });
    const lost = fleet.lost().then((error) => {
      throw error;
    });
    const { complete } = await Promise.race([collected, lost]);
    const tookMs = performance.now() - startedAt;
    await acts.over();
    const badEnds = await fleet.end();
    books.read();
    return { id, complete, tookMs, acts, badEnds };
  } finally {
    await cluster.close();
  }
}

/** @returns {Promise<boolean>} whether every promise was kept */
async function report({ id, complete, tookMs, acts, badEnds }) {
  const left = await leftOf(books.servers, LEFT_GRACE_MS);
  const results = await readResults(paths['results.jsonl']);
  const { disturbed, done } = acts;
  const chunkOf = chunksOf(id, list);
  const { checks, figures } = judge({
    batch: id,
    calls: list,
    results,
    books,
    disturbed,
    concurrency,
    chunkOf,
  });
  checks.push(
    check('the collector calls the batch complete', () => (complete ? [] : ['it does not'])),
    check('all of it was done in mid-run', () =>
      done.length === ACTS && done.every(({ have }) => have < calls)
        ? []
        : done.map(({ what, have }) => `${have} of ${calls}: ${what}`),
    ),
    check('workers end well when they are asked to', () => badEnds),
    check('no server process is left', () => left.map((pid) => `process ${pid}`)),
  );
  const rows = [
    ['seconds', (tookMs / 1_000).toFixed(1)],
    ['calls/s', Math.round((calls / tookMs) * 1_000)],
    ...Object.entries(figures),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  console.log(`\n${rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')}\n`);
  for (const { name, problems } of checks) {
    console.log(`${problems.length === 0 ? '✓' : '✗'} ${name}`);
    for (const problem of problems) console.log(`    ${problem}`);
  }
  const failed = checks.filter(({ problems }) => problems.length > 0).length;
  console.log(`${checks.length - failed} passed, ${failed} failed`);
  return failed === 0;
}
