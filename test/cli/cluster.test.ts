/** Batches over several processes as a person runs them: the commands, what they say, and what is left when one is killed. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clusterDefaults } from '../../packages/cluster/src/defaults.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { postgresMissing, startPostgres } from '../support/postgres.js';
import { onTerminal } from '../support/pseudo-terminal.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { type RedisServer, redisMissing, startRedis } from '../support/redis.js';
import { type Script, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import {
  type Ended,
  mainPath,
  parseLines,
  type Running,
  run,
  STACK_TRACE,
  shell,
  start,
  writeConfig,
  writeLines,
} from './cli.js';

const { watch } = useCensus({ graceMs: 5_000 });
const path = useTempDir();
const missing = redisMissing();

interface Line {
  id: number;
  line: number;
  outcome: string;
  attempts: number;
  error?: { code: string };
}

/** For programs to start on a machine that does much else. */
const PATIENCE_MS = 30_000;
/** No store of the machine that runs the tests. */
const NO_STORE = { BULKHEAD_REDIS: '', BULKHEAD_POSTGRES: '', REDIS_URL: '' };
const echo = (id: number, server = 's'): object => ({
  id,
  server,
  tool: 'echo',
  arguments: { text: String(id) },
});
const input = (count: number): string =>
  writeLines(
    path('in.jsonl'),
    Array.from({ length: count }, (_, id) => echo(id)),
  );
const resultsIn = (file: string): Line[] => parseLines<Line>(readFileSync(file, 'utf8'));
const numbers = (lines: readonly Line[]): number[] => lines.map(({ line }) => line).sort((a, b) => a - b);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

test.each([
  ['--priority', 'high'],
  ['--attempts', '0'],
  ['--per-server', '=3'],
  ['--rate', '5'],
  ['--chunk', '0'],
  ['--shards', '1.5'],
  ['--max-unread', '12 apples'],
  ['--timeout', 'soon'],
])('a mistake in %s is told before anything is connected: exit 1', async (option, value) => {
  const ended = await run(['submit', input(1), option, value], { env: NO_STORE });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain(`${option}: `);
  expect(ended.stderr).toContain(value);
});

test('without a store every command says how to name or start one: exit 1', async () => {
  for (const args of [
    ['submit', input(1)],
    ['batches'],
    ['batch-status', 'b1'],
    ['results', 'b1'],
    ['cancel', 'b1'],
  ]) {
    const ended = await run(args, { env: NO_STORE });
    expect(ended.code, args[0]).toBe(1);
    expect(ended.stderr, args[0]).toMatch(/--redis URL.*BULKHEAD_REDIS.*redis-server/);
  }
  const both = await run(['batches', '--redis', 'redis://a', '--postgres', 'postgres://b'], {
    env: NO_STORE,
  });
  expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining('exclude each other') });
});

test('the help gives the numbers that hold', async () => {
  const { stdout } = await run(['submit', '--help']);
  const text = stdout.replace(/\s+/g, ' ');
  expect(text).toContain(`lines that a worker takes at once (default: ${clusterDefaults.chunkLines})`);
  expect(text).toContain(`(default: ${clusterDefaults.maxUnreadBytes / 1024 ** 2}MB)`);
  const rows = readFileSync('docs/cli.md', 'utf8').split('\n');
  const row = (begin: string): string[] => rows.filter((line) => line.startsWith(begin));
  expect(row(`| \`--chunk <n>\` | ${clusterDefaults.chunkLines} |`)).toHaveLength(1);
  expect(row(`| \`--shards <n>\` | ${clusterDefaults.shards} |`)).toHaveLength(1);
  expect(row(`| \`-j\`, \`--concurrency <n>\` | ${clusterDefaults.workerCalls} |`)).toHaveLength(1);
});

test('a store that is not there is named with the next step: exit 4', async () => {
  const ended = await run(['batches', '--redis', 'redis://:secret-word@127.0.0.1:1'], { env: NO_STORE });
  expect(ended.code).toBe(4);
  expect(ended.stderr).toMatch(/redis:\/\/127\.0\.0\.1:1 cannot be reached: ECONNREFUSED; is it running/);
  expect(ended.stderr).not.toContain('secret-word');
  expect(ended.stderr).not.toMatch(STACK_TRACE);
});

test('commands that run servers of their own load no queue', () => {
  for (const bundle of ['program.bundle.js', 'program.batch.js']) {
    const text = readFileSync(mainPath.replace('main.js', bundle), 'utf8');
    expect(text, bundle).not.toMatch(/bullmq|ioredis/i);
  }
});

describe.skipIf(missing !== undefined)(
  `over a real Redis${missing ? ` (${missing})` : ''}`,
  { timeout: 120_000 },
  () => {
    let redis: RedisServer;
    /** What a test that fails must not leave to the next one. */
    const started: Running[] = [];
    beforeEach(async () => {
      redis = await startRedis();
    });
    afterEach(async () => {
      for (const { child } of started.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
      await redis.stop();
    });

    const env = (): Record<string, string> => ({ ...NO_STORE, BULKHEAD_REDIS: redis.url });
    const bulkhead = (...args: string[]): Promise<Ended> => run(args, { env: env() });

    async function submitted(file: string, ...options: string[]): Promise<string> {
      const { code, stdout } = await bulkhead('submit', file, ...options);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^b[\w-]+\n$/);
      return stdout.trim();
    }

    /** A worker with a server of its own, which writes down what it is asked. */
    async function worker(name: string, script: Script = {}, ...options: string[]): Promise<Running> {
      const config = writeConfig(path(`${name}.json`), {
        s: scripted({ record: path(`${name}.record`), pidFile: path(`${name}.pid`), ...script }),
      });
      const running = start(['worker', '-c', config, ...options], { env: env() });
      started.push(running);
      watch(await pidFrom(path(`${name}.pid`), PATIENCE_MS));
      return running;
    }

    const callsOf = (name: string): string[] =>
      readRecord(path(`${name}.record`)).messages.flatMap(({ method, params }) =>
        method === 'tools/call' ? [String(Object(params?.arguments).text)] : [],
      );
    const slowly = (delayMs: number): Script => ({ rules: [{ method: 'tools/call', delayMs }] });

    async function stop(running: Running): Promise<Ended> {
      running.child.kill('SIGTERM');
      const ended = await running.ended;
      expect(ended.code).toBe(143);
      return ended;
    }

    test('a batch goes in, two workers run it, and its results come out: one line each', async () => {
      const file = writeLines(path('in.jsonl'), [
        ...Array.from({ length: 400 }, (_, id) => echo(id)),
        '{broken',
        '',
        { id: 'no', server: 's', tool: 'fail' },
      ]);
      const submission = await bulkhead('submit', file, '--chunk', '20', '--name', 'nightly');
      const id = submission.stdout.trim();
      expect(submission.stdout).toBe(`${id}\n`);
      expect(submission.stderr).toContain('402 lines in 21 chunks; 1 of them malformed');
      expect(submission.stderr).toContain('no worker has server "s"');
      expect(submission.stderr).toContain(`bulkhead results ${id} --out FILE --follow`);
      const before = await bulkhead('batch-status', id);
      expect(before.code).toBe(4);
      expect(before.stdout).toMatch(/nightly {2}running/);
      expect(before.stdout).toContain('1 of 402 lines');
      expect(before.stdout).toMatch(/^s +21 +0 +0 +0$/m);
      expect(before.stdout).toContain('warning: no worker has server "s"');

      // Slow enough for either that the other one has come before all is done.
      const script = slowly(30);
      const workers = await Promise.all([worker('one', script, '-j', '2'), worker('two', script, '-j', '2')]);
      const collected = await bulkhead('results', id, '--out', path('out.jsonl'), '--follow');
      expect(collected).toMatchObject({ code: 5, stdout: '' });
      expect(collected.stderr).toContain('402 of 402 lines done: 400 ok, 1 tool_error, 1 rejected');
      const lines = resultsIn(path('out.jsonl'));
      expect(numbers(lines)).toEqual([...upTo(401), 403]);
      expect([...callsOf('one'), ...callsOf('two')]).toHaveLength(401);
      expect(callsOf('one').length).toBeGreaterThan(0);
      expect(callsOf('two').length).toBeGreaterThan(0);

      const during = await bulkhead('batch-status', id, '--json');
      const status = JSON.parse(during.stdout);
      expect(during.code).toBe(5);
      expect(status).toMatchObject({
        id,
        finished: true,
        answered: 402,
        outcomes: { ok: 400 },
        warnings: [],
      });
      expect(status.workers).toHaveLength(2);
      const listed = await bulkhead('batches');
      expect(listed.stdout).toMatch(new RegExp(`^${id} +nightly +done +402 +402 +2 +- `, 'm'));
      for (const one of workers) expect((await stop(one)).stderr).toMatch(/worker ended; \d+ lines done/);
    });

    test('the input may come from stdin, and everything is JSON on request', async () => {
      const text = `${JSON.stringify(echo(1))}\n${JSON.stringify(echo(2))}\n`;
      const ended = await run(['submit', '-', '--json'], { env: env(), stdin: text });
      expect(ended.code).toBe(0);
      const { id, ...counts } = JSON.parse(ended.stdout);
      expect(counts).toEqual({ lines: 2, chunks: 1, badInput: 0, continued: false });
      for (const line of parseLines(ended.stderr)) expect(Object.keys(line)).toEqual(['note']);
      const one = await worker('one', {}, '--exit-when-idle', '2s', '--json');
      expect(await one.ended).toMatchObject({ code: 0, stdout: '' });
      const collected = await bulkhead('results', id, '--json');
      expect(collected.code).toBe(0);
      expect(parseLines<Line>(collected.stdout).map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
      expect(JSON.parse(collected.stderr)).toMatchObject({ summary: { id, written: 2, complete: true } });
    });

    test('the same file submitted to its batch again adds nothing; another one is refused', async () => {
      const id = await submitted(input(50), '--chunk', '10');
      const again = await bulkhead('submit', path('in.jsonl'), '--batch', id, '--chunk', '7');
      expect(again).toMatchObject({ code: 0, stdout: `${id}\n` });
      expect(again.stderr).toContain('what was there already was left');
      expect(again.stderr).toContain('keeps the plan of its first submission');
      expect(JSON.parse((await bulkhead('batch-status', id, '--json')).stdout)).toMatchObject({
        lines: 50,
        queues: [{ waiting: 5 }],
      });
      const other = await bulkhead('submit', writeLines(path('other.jsonl'), [echo(1)]), '--batch', id);
      expect(other).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('was submitted from'),
      });
    });

    test('a submission that is interrupted says what is submitted and how it goes on', async () => {
      const running = start(['submit', '-'], { env: env(), stdin: { open: true } });
      await eventually(
        () => /^batch b/m.test(running.stderr()),
        () => `the id; it said ${running.stderr()}`,
        PATIENCE_MS,
      );
      running.child.kill('SIGINT');
      const ended = await running.ended;
      expect(ended).toMatchObject({ code: 130, stdout: '' });
      const [, id = ''] = /bulkhead cancel (\S+)/.exec(ended.stderr) ?? [];
      const status = await bulkhead('batch-status', id);
      expect(status.code).toBe(4);
      expect(status.stdout).toContain('submitting');
      expect(status.stdout).toContain(`bulkhead cancel ${id}`);
    });

    test('an unknown batch is named by every command: exit 1', async () => {
      for (const command of ['batch-status', 'results', 'cancel']) {
        const ended = await bulkhead(command, 'b-nosuch');
        expect(ended, command).toMatchObject({ code: 1, stdout: '' });
        expect(ended.stderr, command).toMatch(/no batch "b-nosuch".*bulkhead batches/);
      }
    });

    test('a password that is refused is not repeated: exit 1', async () => {
      const locked = await startRedis({ args: ['--requirepass', 'right-word'] });
      try {
        for (const url of [`redis://:wrong-word@127.0.0.1:${locked.port}`, locked.url]) {
          const ended = await run(['batches', '--redis', url], { env: NO_STORE });
          expect(ended.code).toBe(1);
          expect(ended.stderr).toMatch(/password/);
          expect(ended.stderr).not.toContain('wrong-word');
        }
        const right = `redis://:right-word@127.0.0.1:${locked.port}`;
        const ended = await run(['submit', input(1)], { env: { ...NO_STORE, REDIS_URL: right } });
        expect(ended.code).toBe(0);
        expect(ended.stderr).not.toContain('right-word');
      } finally {
        await locked.stop();
      }
    });

    test('a batch is cancelled without any worker: each line ends as cancelled, and it can be forgotten', async () => {
      const id = await submitted(input(300), '--chunk', '50');
      const cancelled = await bulkhead('cancel', id);
      expect(cancelled).toMatchObject({ code: 0, stdout: '' });
      expect(cancelled.stderr).toContain('300 lines were not sent');
      const collected = await bulkhead('results', id, '--out', path('out.jsonl'), '--follow');
      expect(collected.code).toBe(5);
      const lines = resultsIn(path('out.jsonl'));
      expect(numbers(lines)).toEqual(upTo(300));
      expect(new Set(lines.map(({ outcome }) => outcome))).toEqual(new Set(['cancelled']));
      expect(JSON.parse((await bulkhead('cancel', id, '--remove', '--json')).stdout)).toMatchObject({
        id,
        removed: true,
      });
      expect((await bulkhead('batches', '--json')).stdout).toBe('[]\n');
    });

    test('a worker that is told to end finishes its calls, and another does the rest: no call twice', async () => {
      const id = await submitted(input(300), '--chunk', '25');
      const first = await worker('first', slowly(60), '-j', '8');
      await recorded(path('first.record'), () => callsOf('first').length >= 20, PATIENCE_MS);
      const ended = await stop(first);
      expect(ended.stderr).toContain('calls in flight may finish');
      const done = callsOf('first').length;
      expect(done).toBeLessThan(300);
      const second = await worker('second', {}, '--exit-when-idle', '2s');
      expect((await second.ended).code).toBe(0);
      const collected = await bulkhead('results', id, '--out', path('out.jsonl'));
      expect(collected.code).toBe(0);
      expect(numbers(resultsIn(path('out.jsonl')))).toEqual(upTo(300));
      const calls = [...callsOf('first'), ...callsOf('second')];
      expect(calls).toHaveLength(300);
      expect(new Set(calls).size).toBe(300);
    });

    test('a collector that is killed is continued by the same command line', async () => {
      const id = await submitted(input(400), '--chunk', '10');
      const out = path('out.jsonl');
      const one = await worker('one', slowly(40), '-j', '4');
      const collector = start(['results', id, '--out', out, '--follow'], { env: env() });
      await eventually(
        () => existsSync(out) && statSync(out).size > 0,
        () => `results; it said ${collector.stderr()}`,
        PATIENCE_MS,
      );
      collector.child.kill('SIGKILL');
      await collector.ended;
      expect(resultsIn(out).length).toBeLessThan(400);
      const again = await bulkhead('results', id, '--out', out, '--follow');
      expect(again.code).toBe(0);
      expect(again.stderr).toMatch(/which has 400 now/);
      expect(numbers(resultsIn(out))).toEqual(upTo(400));
      // They have left the store, and it knows where to.
      const elsewhere = await bulkhead('results', id);
      expect(elsewhere).toMatchObject({ code: 4, stdout: '' });
      expect(elsewhere.stderr).toContain(out);
      await stop(one);
    });

    test('a reader that has enough ends it quietly, and the results stay', async () => {
      const id = await submitted(input(2_000));
      const one = await worker('one', {}, '--exit-when-idle', '2s');
      await one.ended;
      const piped = await shell(
        `"$NODE" "$MAIN" results ${id} --redis ${redis.url} | head -1; echo "\${PIPESTATUS[0]}"`,
        path(),
      );
      const [first = '', code] = piped.stdout.trim().split('\n');
      expect(JSON.parse(first)).toMatchObject({ outcome: 'ok' });
      expect(code).toBe('141');
      expect(piped.stderr).toBe('');
      expect(parseLines((await bulkhead('results', id)).stdout)).toHaveLength(2_000);
      expect((await bulkhead('cancel', id)).stderr).toContain('done already: there is nothing to cancel');
    });

    test('a worker leaves the calls of a server that cannot start to others', async () => {
      const id = await submitted(input(5));
      const config = writeConfig(path('c.json'), {
        s: { command: 'no-such-program' },
        t: scripted({ pidFile: path('t.pid') }),
      });
      const none = await run(['worker', '-c', config, '--servers', 's'], { env: env() });
      expect(none.code).toBe(4);
      expect(none.stderr).toMatch(/server "s" is not ready.*its calls are left to other workers/);
      const some = await run(['worker', '-c', config, '--exit-when-idle', '2s'], { env: env() });
      expect(some.code).toBe(0);
      expect(some.stderr).toMatch(/takes calls of t from redis:/);
      expect(JSON.parse((await bulkhead('batch-status', id, '--json')).stdout)).toMatchObject({
        answered: 0,
      });
      const wrong = await run(['worker', '-c', config, '--servers', 'u'], { env: env() });
      expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('"u" is not in the config') });
    });

    test('watching ends when the batch is done, on a terminal with one picture in place', async () => {
      const id = await submitted(input(60), '--chunk', '10');
      const screen = await onTerminal([process.execPath, mainPath, 'batch-status', id, '--watch'], {
        cwd: path(),
        env: env(),
      });
      const piped = bulkhead('batch-status', id, '--watch', '--json');
      await screen.shows('0 of 60 lines');
      const one = await worker('one', slowly(100), '-j', '4');
      expect(await screen.ended).toBe(0);
      expect(screen.written()).toContain('60 of 60 lines');
      expect(screen.written().split('\u001b[2J')).toHaveLength(2);
      const watched = await piped;
      expect(watched.code).toBe(0);
      const looks = parseLines<{ answered: number; finished: boolean }>(watched.stdout);
      expect(looks.at(-1)).toMatchObject({ answered: 60, finished: true });
      expect(looks.length).toBeGreaterThan(1);
      await stop(one);
    });

    test('a batch is cancelled while a worker runs it: calls under way end too', async () => {
      const id = await submitted(input(200), '--chunk', '10');
      const one = await worker('one', { rules: [{ method: 'tools/call', delayMs: 60_000 }] }, '-j', '4');
      await recorded(path('one.record'), () => callsOf('one').length === 4, PATIENCE_MS);
      expect((await bulkhead('cancel', id)).stderr).toContain('were not sent');
      const collected = await bulkhead('results', id, '--out', path('out.jsonl'), '--follow');
      expect(collected.code).toBe(5);
      const lines = resultsIn(path('out.jsonl'));
      expect(numbers(lines)).toEqual(upTo(200));
      expect(new Set(lines.map(({ outcome }) => outcome))).toEqual(new Set(['cancelled']));
      expect(callsOf('one')).toHaveLength(4);
      await stop(one);
    });
  },
);

const noPostgres = postgresMissing();
test.skipIf(noPostgres !== undefined)(
  `the same commands run over PostgreSQL${noPostgres ? ` (${noPostgres})` : ''}`,
  async () => {
    const postgres = await startPostgres();
    try {
      const env = { ...NO_STORE, BULKHEAD_POSTGRES: postgres.url };
      const submission = await run(['submit', input(100), '--chunk', '10'], { env });
      expect(submission.code).toBe(0);
      const id = submission.stdout.trim();
      const config = writeConfig(path('c.json'), { s: scripted({}) });
      const worker = await run(['worker', '-c', config, '--exit-when-idle', '2s'], { env });
      expect(worker.code).toBe(0);
      expect(worker.stderr).not.toContain(new URL(postgres.url).password);
      const collected = await run(['results', id, '--out', path('out.jsonl')], { env });
      expect(collected.code).toBe(0);
      expect(numbers(resultsIn(path('out.jsonl')))).toEqual(upTo(100));
    } finally {
      await postgres.stop();
    }
  },
);
