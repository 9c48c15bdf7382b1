/** Servers that exist: each is connected, listed, called, interrupted and closed, and leaves nothing behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { BulkheadError, type Reason, type ToolResult } from '@bulkhead/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Row, rows } from '../fixtures/matrix/servers.js';
import { useCensus } from '../support/census.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
let remote: ChildProcess | undefined;
afterEach(async () => {
  if (remote === undefined) return;
  const exited = once(remote, 'exit');
  remote.kill('SIGKILL');
  await exited;
  remote.stderr?.destroy();
  remote = undefined;
});
const start = useRuntime(directory);

// Verdicts about eras are remembered on disk: each test has a memory of its own.
const cacheHome = process.env.XDG_CACHE_HOME;
beforeEach(() => {
  process.env.XDG_CACHE_HOME = directory('cache');
});
afterEach(() => {
  if (cacheHome === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = cacheHome;
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function entryOf(row: Row): Promise<Record<string, unknown>> {
  const entry = row.entry(directory);
  if (row.remote === undefined) return entry;
  const port = await freePort();
  const env = { ...process.env, PORT: String(port) };
  remote = spawn(entry.command, entry.args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  const lines = createInterface({ input: remote.stderr as Readable });
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => line.includes(`port ${port}`) && resolve());
    lines.once('close', () => reject(new Error(`${row.name} ended before it listened`)));
  });
  return { type: row.remote.type, url: `http://127.0.0.1:${port}${row.remote.path}` };
}

/** How a call ended, and what it said. */
async function ended(call: Promise<ToolResult>): Promise<{ outcome: string; text: string }> {
  try {
    const result = await call;
    return { outcome: result.outcome, text: result.text() };
  } catch (error) {
    if (error instanceof BulkheadError) return { outcome: error.outcome, text: error.message };
    throw error;
  }
}

describe.each(rows)('$name', (row) => {
  it('is connected, listed, called, interrupted and closed', async () => {
    const runtime = await start({ s: await entryOf(row) });
    expect(await runtime.ready()).toMatchObject({ ok: true, failed: [] });
    const server = runtime.server('s');
    const [status] = (await runtime.status()).servers;
    expect(status).toMatchObject({
      protocolVersion: row.version,
      state: 'ready',
      restarts: row.restarts ?? 0,
    });

    expect(server.tools.map(({ name }) => name)).toContain(row.tool);
    expect(server.tools.length).toBeGreaterThanOrEqual(row.tools);
    expect((await server.listResources()).length).toBeGreaterThanOrEqual(row.resources ?? 0);
    expect(await server.listResourceTemplates()).toBeInstanceOf(Array);
    expect((await server.listPrompts()).length).toBeGreaterThanOrEqual(row.prompts ?? 0);

    const called = { outcome: row.call.outcome, text: expect.stringContaining(row.call.text) };
    expect(await ended(server.callTool(row.tool, row.call.args))).toEqual(called);

    // A stopped process cannot answer first: the call is on its way, and ends as cancelled.
    const pid = remote?.pid ?? status?.pid;
    if (pid === undefined) throw new Error('the server has no process');
    const abort = new AbortController();
    process.kill(pid, 'SIGSTOP');
    try {
      const cancelled = failureOf(server.callTool(row.tool, row.call.args, { signal: abort.signal }));
      await runtime.status();
      abort.abort();
      expect(await cancelled).toMatchObject({ code: 'CANCELLED', tool: row.tool, data: { sent: true } });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect(await ended(server.callTool(row.tool, row.call.args))).toEqual(called);

    const report = await runtime.close();
    expect(report.servers).toMatchObject([{ name: 's', finalState: 'stopped' }]);
    expect(report.servers[0]?.pids.every(({ gone }) => gone)).toBe(true);
  });
});

describe('one that never says a word', () => {
  it('is given up with the reason, and the others do not wait for it', async () => {
    const silent = scripted({ rules: [{ method: '*', reply: null }] });
    const runtime = await start({
      silent: { ...silent, startupTimeoutMs: 600, protocol: 'legacy' },
      honest: scripted({}),
    });
    const given = new Promise<Reason>((resolve) => {
      runtime.on('state', ({ server, reason }) => server === 'silent' && reason && resolve(reason));
    });
    expect(await runtime.ready({ servers: ['honest'] })).toMatchObject({ ok: true });
    expect(runtime.server('silent').state).not.toBe('ready');
    expect((await runtime.server('honest').callTool('echo', { text: 'here' })).text()).toBe('here');
    expect((await given).message).toContain('startupTimeoutMs (600 ms)');
    expect((await runtime.server('honest').callTool('echo', { text: 'still' })).text()).toBe('still');
  });
});
