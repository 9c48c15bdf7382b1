/**
 * The batch command on a file of calls, start to end in its own process, beside the rate of the lane itself: what
 * reading, journaling and writing lines cost.
 */
import { spawn } from 'node:child_process';
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from '../load.mjs';
import { median, quietSample } from '../measure.mjs';
import * as bulkhead from '../peers/bulkhead.mjs';
import { CLI, ECHO } from '../places.mjs';
import { summarize } from '../rows.mjs';

const IN_FLIGHT = 64;
const RSS_POLL_MS = 20;

function peakRssMb(pid) {
  try {
    const line = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return line === null ? undefined : Number(line[1]) / 1024;
  } catch {
    return undefined;
  }
}

async function writeCalls(file, lines) {
  const out = createWriteStream(file);
  for (let i = 1; i <= lines; i++) {
    const line = { id: i, server: 'echo', tool: 'echo', arguments: { text: `hello ${i}` } };
    if (!out.write(`${JSON.stringify(line)}\n`)) await new Promise((resolve) => out.once('drain', resolve));
  }
  await new Promise((resolve) => out.end(resolve));
}

async function batch(dir, lines) {
  const out = join(dir, 'out.jsonl');
  rmSync(out, { force: true });
  const args = [CLI, 'batch', join(dir, 'calls.jsonl'), '--config', join(dir, 'mcp.json'), '--out', out];
  args.push('--progress', 'none', '--concurrency', String(IN_FLIGHT));
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  let rssMb;
  const poll = setInterval(() => {
    rssMb = peakRssMb(child.pid) ?? rssMb;
  }, RSS_POLL_MS);
  const code = await new Promise((resolve) => child.once('close', resolve));
  const tookMs = performance.now() - startedAt;
  clearInterval(poll);
  const written = readFileSync(out, 'utf8').split('\n').length - 1;
  if (code !== 0 || written !== lines)
    throw new Error(`batch: exit ${code}, ${written} of ${lines} lines\n${stderr}`);
  return { tookMs, linesPerSecond: (lines / tookMs) * 1_000, rssMb };
}

export async function run({ runs, sampleMs, lines: sizes }) {
  if (!existsSync(CLI)) throw new Error('batch: packages/cli is not built; run `npm run build` first');
  const dir = mkdtempSync(join(tmpdir(), 'bulkhead-bench-batch-'));
  const lane = await bulkhead.open({ echo: [ECHO] });
  const echo = () => lane.call('echo', 'echo', { text: 'hello' });
  const rows = [];
  try {
    writeFileSync(
      join(dir, 'mcp.json'),
      JSON.stringify({ mcpServers: { echo: { command: process.execPath, args: [ECHO] } } }),
    );
    await load(echo, { inFlight: IN_FLIGHT, until: sampleMs });
    for (const lines of sizes) {
      await writeCalls(join(dir, 'calls.jsonl'), lines);
      const lanes = [];
      const batches = [];
      for (let i = 0; i < runs; i++) {
        const { value, waitShare } = await quietSample(() =>
          load(echo, { inFlight: IN_FLIGHT, until: sampleMs }),
        );
        lanes.push({ callsPerSecond: (value.latencies.length / value.tookMs) * 1_000, waitShare });
        batches.push(await batch(dir, lines));
      }
      const identity = { lines, inFlight: IN_FLIGHT };
      rows.push(summarize({ name: 'lane', inFlight: IN_FLIGHT }, lanes, 'callsPerSecond'));
      const ratioToLane = median(batches.map((one, i) => one.linesPerSecond / lanes[i].callsPerSecond));
      rows.push({ ...summarize({ name: 'batch', ...identity }, batches, 'linesPerSecond'), ratioToLane });
    }
  } finally {
    await lane.close();
    rmSync(dir, { recursive: true, force: true });
  }
  return rows;
}
