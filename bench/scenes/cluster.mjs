/**
 * The same file of calls by the batch command alone, and submitted to a Redis of the bench's own for one worker and for
 * two. All of it by the commands, as a person would, start to end; workers wait already, as they would.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openCluster } from '@bulkhead/cluster';
import { startRedis } from '../../scripts/redis.mjs';
import { CLI, ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about =
  'a file of calls by the batch command, and by submit, Redis, one and two workers, and results; all on this machine';

const IN_FLIGHT = 64;
const POLL_MS = 20;
const WARM_LINES = 500;
/** `USER_HZ`, which Linux has fixed for programs. */
const TICK_MS = 10;
/** What a worker says after the SIGTERM that ends it. */
const STOPPED = 128 + 15;

export async function run({ runs, lines: sizes, chunks }) {
  let redis;
  try {
    redis = await startRedis();
  } catch (error) {
    return [{ name: 'bulkhead submit', failed: error.message }];
  }
  const dir = mkdtempSync(join(tmpdir(), 'bulkhead-bench-cluster-'));
  try {
    const mcpServers = { echo: { command: process.execPath, args: [ECHO] } };
    writeFileSync(join(dir, 'mcp.json'), JSON.stringify({ mcpServers }));
    writeCalls(join(dir, 'warm.jsonl'), WARM_LINES);
    const rows = [];
    for (const lines of sizes) {
      writeCalls(join(dir, 'calls.jsonl'), lines);
      const cases = [
        { label: { name: 'bulkhead batch' }, measure: () => alone(dir, lines) },
        ...chunks.flatMap((chunkLines) =>
          [1, 2].map((workers) => ({
            label: { name: 'bulkhead submit', workers, chunkLines },
            measure: () => together(dir, redis, { lines, workers, chunkLines }),
          })),
        ),
      ];
      const identity = { case: 'JSONL to JSONL', lines, inFlight: IN_FLIGHT };
      rows.push(...(await compare(identity, cases, runs, 'linesPerSecond', ({ measure }) => measure())));
    }
    return rows;
  } finally {
    await redis.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

function writeCalls(file, lines) {
  const line = (id) => ({ id, server: 'echo', tool: 'echo', arguments: { text: `hello ${id}` } });
  const texts = Array.from({ length: lines }, (_, i) => `${JSON.stringify(line(i + 1))}\n`);
  writeFileSync(file, texts.join(''));
}

async function alone(dir, lines) {
  const out = join(dir, 'out.jsonl');
  rmSync(out, { force: true });
  const startedAt = performance.now();
  const batch = command(['batch', join(dir, 'calls.jsonl'), '--config', join(dir, 'mcp.json'), '--out', out]);
  const cpu = watchCpu(batch.child.pid);
  await batch.end;
  const tookMs = performance.now() - startedAt;
  return figures(out, lines, { tookMs, cpuMs: cpu() });
}

async function together(dir, redis, { lines, workers: count, chunkLines }) {
  const out = join(dir, 'out.jsonl');
  rmSync(out, { force: true });
  const store = ['--redis', redis.url];
  const workers = Array.from({ length: count }, () =>
    command(['worker', ...store, '--config', join(dir, 'mcp.json'), '-j', String(IN_FLIGHT)]),
  );
  try {
    // A worker that ends before it is told to would be waited for in vain.
    const early = Promise.race(workers.map(({ end }) => end)).then((stdout) => {
      throw new Error(`bulkhead worker: ended early: ${stdout}`);
    });
    await Promise.race([early, warm(redis.url, join(dir, 'warm.jsonl'), count)]);
    const pids = workers.map(({ child }) => child.pid);
    const before = { workers: cpuOf(pids), redis: cpuOf([redis.pid]) };
    const startedAt = performance.now();
    const submitted = command(['submit', join(dir, 'calls.jsonl'), '--chunk', String(chunkLines), ...store]);
    const id = (await submitted.end).trim();
    await command(['results', id, '--out', out, '--follow', ...store]).end;
    const tookMs = performance.now() - startedAt;
    return figures(out, lines, {
      tookMs,
      cpuMs: cpuOf(pids) - before.workers,
      redisMs: cpuOf([redis.pid]) - before.redis,
    });
  } finally {
    for (const { child } of workers) child.kill('SIGTERM');
    await Promise.all(workers.map(({ end }) => end));
  }
}

/** Resolves when so many workers are there and their servers have answered. */
async function warm(redis, input, count) {
  const cluster = await openCluster({ redis });
  try {
    for (;;) {
      const { id } = await cluster.submit({ input });
      const output = `${input}.out`;
      await cluster.results(id, { output, follow: true });
      rmSync(output);
      const { workers } = await cluster.status(id);
      await cluster.remove(id);
      if (workers.length === count) return;
      await wait(POLL_MS);
    }
  } finally {
    await cluster.close();
  }
}

function figures(out, lines, { tookMs, cpuMs, redisMs }) {
  const written = readFileSync(out, 'utf8').split('\n').length - 1;
  if (written !== lines) throw new Error(`${written} of ${lines} lines`);
  return {
    linesPerSecond: (lines / tookMs) * 1_000,
    cpuMicrosPerCall: (cpuMs * 1_000) / lines,
    ...(redisMs !== undefined && { redisMicrosPerCall: (redisMs * 1_000) / lines }),
    tookMs,
  };
}

/** @returns {{child: import('node:child_process').ChildProcess, end: Promise<string>}} `end`: all of stdout */
function command(args) {
  const child = spawn(process.execPath, [CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Neither a store nor a config of the person's own.
    env: { ...process.env, BULKHEAD_REDIS: '', BULKHEAD_POSTGRES: '' },
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      said[name] += text;
    });
  }
  const end = once(child, 'close').then(([code]) => {
    if (code === 0 || code === STOPPED) return said.stdout;
    throw new Error(`bulkhead ${args[0]}: exit ${code}: ${said.stderr.trim().split('\n').at(-1)}`);
  });
  // A worker that ends early is told when it is waited for.
  end.catch(() => {});
  return { child, end };
}

/** CPU time of processes with all their threads in ms; 0 where the kernel does not tell, or for one that is gone. */
function cpuOf(pids) {
  return pids.reduce((sum, pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return sum + (Number(fields[11]) + Number(fields[12])) * TICK_MS;
    } catch {
      return sum;
    }
  }, 0);
}

/** @returns {() => number} ends it, and gives the last that was seen */
function watchCpu(pid) {
  let cpuMs = 0;
  const timer = setInterval(() => {
    cpuMs = Math.max(cpuMs, cpuOf([pid]));
  }, POLL_MS);
  return () => {
    clearInterval(timer);
    return cpuMs;
  };
}
