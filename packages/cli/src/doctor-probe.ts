/** One server in a throw-away runtime of its own: whether it starts, what it speaks and offers, whether it answers. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadedConfig, Reason, RuntimeApi, ServerView } from '@bulkhead/runtime';
import type { Context } from './context.js';
import type { Check } from './doctor-checks.js';
import { atOnce, onlyServers, withRuntime } from './session.js';

export interface Probe {
  checks: Check[];
  /** Where the server came to rest, `ready` when all is well. */
  state: string;
  reason?: Reason;
  /** The last lines that it wrote to stderr. */
  stderr: string[];
}

const STDERR_LINES = 8;
const PING_TIMEOUT_MS = 10_000;

export async function probe(
  server: string,
  config: LoadedConfig,
  timeoutMs: number | undefined,
  context: Context,
): Promise<Probe> {
  const logDir = await mkdtemp(join(tmpdir(), 'bulkhead-doctor-'));
  try {
    const alone = atOnce(onlyServers(config, [server]));
    return await withRuntime(alone, context, (runtime) => look(server, runtime, timeoutMs, context), {
      logDir,
    });
  } finally {
    await rm(logDir, { recursive: true, force: true });
  }
}

async function look(
  server: string,
  runtime: RuntimeApi,
  timeoutMs: number | undefined,
  { interrupt }: Context,
): Promise<Probe> {
  const checks: Check[] = [];
  const startedAt = performance.now();
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  await interrupt.race(runtime.ready({ servers: [server], ...limit }));
  const tookMs = Math.round(performance.now() - startedAt);
  const view = runtime.server(server);
  const { state, reason } = view;
  const status = (await runtime.status()).servers.find(({ name }) => name === server);
  if (state !== 'ready') {
    const why = reason?.message ?? `it is still ${state} after ${tookMs} ms`;
    checks.push({ check: 'start', result: 'failed', detail: why });
    const stderr = reason?.stderr ?? (await tailOf(status?.logFile));
    return {
      checks,
      state,
      stderr: stderr.slice(-STDERR_LINES),
      ...(reason === undefined ? {} : { reason }),
    };
  }
  checks.push({ check: 'start', result: 'ok', detail: `ready after ${tookMs} ms` });
  const {
    protocolVersion = 'unknown',
    serverInfo,
    quarantinedTools = [],
    warnings = [],
    skippedLines = 0,
  } = status ?? {};
  const era = protocolVersion >= '2026-07-28' ? 'stateless' : 'with initialize';
  const who = serverInfo === undefined ? '' : `; ${serverInfo.name} ${serverInfo.version}`;
  checks.push({ check: 'protocol', result: 'ok', detail: `${protocolVersion} (${era})${who}` });
  checks.push({ check: 'tools', result: 'ok', detail: `${view.tools.length}` });
  for (const { name, reason: why } of quarantinedTools) {
    checks.push({ check: 'tools', result: 'warning', detail: `"${name}" is left out: ${why}` });
  }
  checks.push(await ping(view));
  for (const warning of warnings) checks.push({ check: 'output', result: 'warning', detail: warning });
  if (skippedLines > 0) {
    const detail = `${skippedLines} lines on stdout were no protocol; what is for people belongs on stderr`;
    checks.push({ check: 'output', result: 'warning', detail });
  }
  return { checks, state, stderr: (await tailOf(status?.logFile)).slice(-STDERR_LINES) };
}

async function ping(view: ServerView): Promise<Check> {
  try {
    const tookMs = await view.ping({ timeoutMs: PING_TIMEOUT_MS, maxMs: PING_TIMEOUT_MS });
    return { check: 'ping', result: 'ok', detail: `${tookMs.toFixed(1)} ms` };
  } catch (error) {
    return { check: 'ping', result: 'warning', detail: (error as Error).message };
  }
}

async function tailOf(file: string | undefined): Promise<string[]> {
  const text = file === undefined ? '' : await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line.trim() !== '');
}
