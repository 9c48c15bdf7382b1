/** Bulkhead as an agent uses it: every session in its own thread. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from '@bulkhead/runtime';

/**
 * @param servers arguments of `node` by server name
 * @param awaited names that must be ready before this resolves; default all
 */
export async function open(servers, awaited = Object.keys(servers)) {
  const logDir = mkdtempSync(join(tmpdir(), 'bulkhead-bench-'));
  const entries = Object.entries(servers).map(([name, args]) => [name, { command: process.execPath, args }]);
  const runtime = await createRuntime({ servers: Object.fromEntries(entries), logDir });
  const report = await runtime.ready({ servers: awaited });
  if (!report.ok) throw new Error(`bulkhead: not ready: ${JSON.stringify(report.failed)}`);
  const refs = new Map(awaited.map((name) => [name, runtime.server(name)]));
  return {
    name: 'bulkhead',
    call: (server, tool, args) => refs.get(server).callTool(tool, args),
    decode: (result) => result.content,
    async close() {
      await runtime.close();
      rmSync(logDir, { recursive: true, force: true });
    },
  };
}
