/**
 * A file of calls, JSONL to JSONL: the batch command start to end in its own process, beside the rate of the lane itself,
 * and beside the loop that one would write by hand around each peer.
 */
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { withHosts } from '../hosts.mjs';
import { sample } from '../measure.mjs';
import { CLI, ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about =
  'a file of calls, JSONL to JSONL: the batch command, the lane alone, and a plain loop over each peer';

const IN_FLIGHT = 64;
const RSS_POLL_MS = 20;
const MB = 1024 * 1024;

export const tasks = {
  /** The plain loop: a line, a call, a line; no journal, no retries. */
  async pipe(peer, { input, output, lines }) {
    const out = createWriteStream(output);
    const reader = createInterface({ input: createReadStream(input) })[Symbol.asyncIterator]();
    let written = 0;
    const caller = async () => {
      for (;;) {
        const { value: line, done } = await reader.next();
        if (done) return;
        const { id, server, tool, arguments: args } = JSON.parse(line);
        const content = peer.decode(await peer.call(server, tool, args));
        written++;
        if (!out.write(`${JSON.stringify({ id, content })}\n`)) {
          await new Promise((resolve) => out.once('drain', resolve));
        }
      }
    };
    out.setMaxListeners(0);
    const { wallMs, waitShare } = await sample(async () => {
      await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
      await new Promise((resolve) => out.end(resolve));
    });
    if (written !== lines) throw new Error(`${written} of ${lines} lines`);
    const rssMb = process.memoryUsage.rss() / MB;
    return { linesPerSecond: (lines / wallMs) * 1_000, tookMs: wallMs, rssMb, waitShare };
  },
};

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

async function command(dir, lines) {
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
  const written = existsSync(out) ? readFileSync(out, 'utf8').split('\n').length - 1 : 0;
  if (code !== 0 || written !== lines) {
    throw new Error(`exit ${code}, ${written} of ${lines} lines: ${stderr.trim().split('\n').at(-1)}`);
  }
  return { linesPerSecond: (lines / tookMs) * 1_000, tookMs, rssMb };
}

export async function run({ peers, runs, sampleMs, lines: sizes }) {
  if (!existsSync(CLI)) throw new Error('bench: packages/cli is not built; run `npm run build` first');
  const clients = peers.filter(({ bound }) => bound !== true);
  const dir = mkdtempSync(join(tmpdir(), 'bulkhead-bench-batch-'));
  const mcpServers = { echo: { command: process.execPath, args: [ECHO] } };
  try {
    await writeFile(join(dir, 'mcp.json'), JSON.stringify({ mcpServers }));
    return await withHosts(clients, 'batch', { echo: { args: [ECHO] } }, async (hosts) => {
      const load = (host) => host.do('load', { servers: ['echo'], inFlight: IN_FLIGHT, sampleMs });
      for (const host of hosts) await load(host).catch(() => {});
      const lane = hosts.find(({ label }) => label.name === 'bulkhead' && label.node === undefined);
      const identity = { inFlight: IN_FLIGHT };
      const laneRows =
        lane === undefined
          ? []
          : await compare({ case: 'lane alone', ...identity }, [lane], runs, 'callsPerSecond', load);
      const rows = [...laneRows];
      for (const lines of sizes) {
        await writeCalls(join(dir, 'calls.jsonl'), lines);
        const whole = { label: { name: 'bulkhead batch' }, do: () => command(dir, lines) };
        const pipe = (host) =>
          host.do('pipe', { input: join(dir, 'calls.jsonl'), output: join(dir, 'piped.jsonl'), lines });
        const measured = await compare(
          { case: 'JSONL to JSONL', lines, ...identity },
          [whole, ...hosts],
          runs,
          'linesPerSecond',
          (host) => (host === whole ? whole.do() : pipe(host)),
        );
        rows.push(...measured.map((row) => withRatioToLane(row, laneRows[0])));
      }
      return rows;
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function withRatioToLane(row, lane) {
  if (!row.name.startsWith('bulkhead') || row.node !== undefined) return row;
  const ratio = row.linesPerSecond / lane?.callsPerSecond;
  return Number.isFinite(ratio) ? { ...row, ratioToLane: ratio } : row;
}
