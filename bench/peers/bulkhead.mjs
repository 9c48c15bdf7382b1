/** Bulkhead as an agent uses it: every session in its own thread. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from '@bulkhead/runtime';
import { MAX_MESSAGE_BYTES } from '../places.mjs';

function entryOf({ args, url }) {
  const limits = { maxMessageBytes: MAX_MESSAGE_BYTES };
  return url === undefined
    ? { command: process.execPath, args, ...limits }
    : { type: 'http', url, ...limits };
}

export async function connect(servers, { awaited, onReady, telemetry = 'auto' }) {
  const logDir = mkdtempSync(join(tmpdir(), 'bulkhead-bench-'));
  const entries = Object.entries(servers).map(([name, spec]) => [name, entryOf(spec)]);
  const runtime = await createRuntime({ servers: Object.fromEntries(entries), logDir, telemetry });
  runtime.on('state', ({ server, state }) => {
    if (state === 'ready') onReady(server);
  });
  const report = await runtime.ready({ servers: awaited });
  if (!report.ok) throw new Error(`not ready: ${JSON.stringify(report.failed)}`);
  const refs = new Map(awaited.map((name) => [name, runtime.server(name)]));
  return {
    runtime,
    call: (server, tool, args) => refs.get(server).callTool(tool, args),
    decode: (result) => result.content,
    async close() {
      await runtime.close();
      rmSync(logDir, { recursive: true, force: true });
    },
  };
}
