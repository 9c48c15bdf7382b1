/**
 * A real run that calibrates the simulation: the workers of the package in this process, a real Redis, and runtimes that
 * only wait where a server would work. What the store and a worker's CPU need per step and line is measured, not guessed.
 */
import { EventEmitter } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCluster } from '@bulkhead/cluster';
import { Redis } from 'ioredis';
import { startRedis } from '../../scripts/redis.mjs';
import { Draws } from './draws.mjs';
import { STORE_LINE_MICROS } from './setting.mjs';

const SERVER = 'service';
const RESULT = '{"content":[{"type":"text","text":"done"}]}';
const WARM_CALLS = 1_000;

/**
 * @param {{calls: number, workers: number, window: number, meanMs: number, sigma: number, seed: number}} setting
 * @returns {Promise<{seconds: number, stepMicros: number, lineMicros: number, ...}>}
 */
export async function runReal(setting) {
  const redis = await startRedis();
  const dir = mkdtempSync(join(tmpdir(), 'bulkhead-simulate-'));
  const clusters = [];
  const workers = [];
  try {
    const draws = new Draws(setting.seed);
    for (let i = 0; i < setting.workers; i++) {
      const own = await openCluster({ redis: redis.url });
      clusters.push(own);
      const runtime = new WaitingRuntime(() => draws.latency(setting.meanMs, setting.sigma));
      const windows = new Map([[SERVER, setting.window]]);
      workers.push(own.worker({ runtime, windows }));
    }
    const ended = workers.map((worker) => worker.run());
    const cluster = await openCluster({ redis: redis.url });
    const client = new Redis(redis.url);
    try {
      await batch(cluster, dir, WARM_CALLS);
      const before = await usage(client);
      const seconds = await batch(cluster, dir, setting.calls);
      const after = await usage(client);
      const steps = after.steps - before.steps;
      return {
        seconds,
        callsPerSecond: setting.calls / seconds,
        storeSteps: steps,
        stepMicros: ((after.storeMs - before.storeMs) * 1_000 - setting.calls * STORE_LINE_MICROS) / steps,
        lineMicros: ((after.ownMs - before.ownMs) * 1_000) / setting.calls,
        storeBytes: after.peakBytes - before.bytes,
      };
    } finally {
      client.disconnect();
      await cluster.close();
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(ended);
    }
  } finally {
    await Promise.all(clusters.map((own) => own.close()));
    await redis.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @returns {Promise<number>} seconds from the last line submitted to the last result */
async function batch(cluster, dir, calls) {
  const input = join(dir, 'calls.jsonl');
  const output = join(dir, 'results.jsonl');
  const line = (id) => `${JSON.stringify({ id, server: SERVER, tool: 'work', arguments: { n: id } })}\n`;
  writeFileSync(input, Array.from({ length: calls }, (_, i) => line(i + 1)).join(''));
  rmSync(output, { force: true });
  const { id } = await cluster.submit({ input });
  const startedAt = performance.now();
  await cluster.results(id, { output, follow: true });
  const seconds = (performance.now() - startedAt) / 1_000;
  const got = readFileSync(output, 'utf8').split('\n').length - 1;
  if (got !== calls) throw new Error(`simulate: ${got} of ${calls} results`);
  await cluster.remove(id);
  return seconds;
}

/** What the store and this process have used so far. A step is one script: the ledger and the queue work with nothing else. */
async function usage(client) {
  const cpu = fieldsOf(await client.info('cpu'));
  const memory = fieldsOf(await client.info('memory'));
  const commands = fieldsOf(await client.info('commandstats'));
  const scripts = ['cmdstat_evalsha', 'cmdstat_eval'].map((name) => commands.get(name) ?? '');
  const own = process.cpuUsage();
  return {
    storeMs: (Number(cpu.get('used_cpu_user')) + Number(cpu.get('used_cpu_sys'))) * 1_000,
    steps: scripts.reduce((sum, text) => sum + Number(/calls=(\d+)/.exec(text)?.[1] ?? 0), 0),
    ownMs: (own.user + own.system) / 1_000,
    bytes: Number(memory.get('used_memory')),
    peakBytes: Number(memory.get('used_memory_peak')),
  };
}

function fieldsOf(text) {
  const pairs = text.split('\r\n').map((line) => line.split(':'));
  return new Map(pairs.filter(({ length }) => length > 1).map(([name, ...rest]) => [name, rest.join(':')]));
}

/** A runtime whose one server does nothing but take its time. */
class WaitingRuntime extends EventEmitter {
  #views;

  constructor(latency) {
    super();
    const callTool = async () => {
      await new Promise((resolve) => setTimeout(resolve, latency()));
      return answer();
    };
    this.#views = [{ name: SERVER, state: 'ready', callTool, start: async () => {} }];
  }

  servers() {
    return this.#views;
  }

  tools() {
    return [
      { fullName: `mcp__${SERVER}__work`, server: SERVER, name: 'work', inputSchema: { type: 'object' } },
    ];
  }

  async ready() {
    return { ok: true, ready: [SERVER], failed: [] };
  }

  async status() {
    return { servers: [], problems: [] };
  }
}

function answer() {
  return {
    outcome: 'ok',
    isError: false,
    content: [{ type: 'text', text: 'done' }],
    structuredContent: undefined,
    text: () => 'done',
    raw: RESULT,
    rawBytes: async () => Buffer.from(RESULT),
    timing: { queueMs: 0, callMs: 1 },
    attempts: 1,
    warnings: [],
  };
}
