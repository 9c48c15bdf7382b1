/**
 * The command line, start to end: `--version` and one call to a server that is warm already, beside the start of Node
 * alone and beside other command lines that keep servers warm; then 1 000 calls, as a batch and as a shell's loop.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from '../measure.mjs';
import { commandLines } from '../peers/cli-list.mjs';
import { nodeProgram } from '../peers/installed.mjs';
import { CLI, ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'one command start to end with warm servers, and 1 000 calls from a shell';

/** One command varies by more than the difference that counts: this many make one figure. */
const COMMANDS = 10;
const CALLS = 1_000;
/** The loop of a shell is measured over so many and told for all. */
const LOOPED = 20;
const ALONE = 'Node alone';
const LOOP = 'i=0; while [ $i -lt "$0" ]; do "$@" >/dev/null || exit 1; i=$((i+1)); done';

/** Wall time of one process, ms. @throws {Error} when it fails */
async function timed([file, ...args], { cwd, env }) {
  const startedAt = performance.now();
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`exit ${code}: ${stderr.trim().split('\n').at(-1)}`);
  return performance.now() - startedAt;
}

async function commands(command, line) {
  const took = [];
  for (let i = 0; i < COMMANDS; i++) took.push(await timed(command, line));
  return { tookMs: median(took) };
}

async function loop(line) {
  const wallMs = await timed(['sh', '-c', LOOP, String(LOOPED), ...line.call], {
    cwd: line.directory,
    env: line.env,
  });
  return { tookMs: (wallMs / LOOPED) * CALLS, callsPerSecond: (LOOPED / wallMs) * 1_000 };
}

async function batch(directory) {
  const out = join(directory, 'out.jsonl');
  rmSync(out, { force: true });
  const args = [CLI, 'batch', join(directory, 'calls.jsonl'), '--config', join(directory, 'mcp.json')];
  const wallMs = await timed([process.execPath, ...args, '--out', out, '--progress', 'none'], {
    cwd: directory,
    env: process.env,
  });
  const written = readFileSync(out, 'utf8').split('\n').length - 1;
  if (written !== CALLS) throw new Error(`${written} of ${CALLS} lines`);
  return { tookMs: wallMs, callsPerSecond: (CALLS / wallMs) * 1_000 };
}

/** Ratios to the start of the same Node. */
function withRatioToNode(rows) {
  return rows.map((row) => {
    const alone = rows.find((one) => one.case === ALONE && one.node === row.node);
    const ratio = row.tookMs / alone?.tookMs;
    return Number.isFinite(ratio) ? { ...row, ratioToNode: ratio } : row;
  });
}

export async function run({ peers, runs }) {
  if (!existsSync(CLI)) throw new Error('bench: packages/cli is not built; run `npm run build` first');
  const directory = mkdtempSync(join(tmpdir(), 'bh-cli-'));
  const wanted = new Set(peers.map(({ name }) => name));
  // Its name is in no other scene; it takes part wherever another command line does.
  if (wanted.has('mcporter')) wanted.add('mcpc');
  const lines = [];
  try {
    const mcpServers = { echo: { command: process.execPath, args: [ECHO] } };
    writeFileSync(join(directory, 'mcp.json'), JSON.stringify({ mcpServers }));
    const call = (i) => JSON.stringify({ id: i, server: 'echo', tool: 'echo', arguments: { text: 'hello' } });
    const calls = Array.from({ length: CALLS }, (_, i) => `${call(i)}\n`);
    writeFileSync(join(directory, 'calls.jsonl'), calls.join(''));
    for (const line of commandLines(directory).filter(({ label }) => wanted.has(label.name))) {
      lines.push(line);
      line.start();
    }
    const bare = [undefined, ...new Set(lines.flatMap(({ label }) => (label.node ? [label.node] : [])))];
    const single = (label, command, line) => ({ label, measure: () => commands(command, line) });
    const own = (line) => ({ cwd: line.directory, env: line.env });
    // All in turn: what the machine does beside it meets each of them.
    const hosts = [
      ...bare.map((node) =>
        single(
          { name: 'node -e 0', ...(node === undefined ? {} : { node }), case: ALONE },
          [nodeProgram(node === undefined ? undefined : Number(node.split(' ')[1])), '-e', '0'],
          { cwd: directory, env: process.env },
        ),
      ),
      ...lines.map((line) => single({ ...line.label, case: '--version' }, line.version, own(line))),
      ...lines.map((line) => single({ ...line.label, case: 'warm call' }, line.call, own(line))),
    ];
    const many = [
      { label: { name: 'bulkhead batch', case: '1 000 calls' }, measure: () => batch(directory) },
      ...lines.map((line) => ({
        label: { ...line.label, case: `1 000 calls, from ${LOOPED}` },
        measure: () => loop(line),
      })),
    ];
    const measure = (host) => host.measure();
    return [
      ...withRatioToNode(await compare({}, hosts, runs, 'tookMs', measure)),
      ...(await compare({}, many, runs, 'tookMs', measure)),
    ];
  } finally {
    for (const line of lines) line.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
