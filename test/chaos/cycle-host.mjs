/**
 * A host program that does one thing over and over and says after each time what it holds, a JSON line each:
 * memory, active resources, listeners, descendants, zombies. Arguments: `server` (one runtime, its server is stopped
 * and started) or `runtime` (a whole runtime is made and closed), and how often. Run it with `--expose-gc`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRuntime } from '@bulkhead/runtime';
import { descendants } from './processes.mjs';

const [, , scene, times] = process.argv;
const ECHO = fileURLToPath(new URL('../../examples/echo/server.mjs', import.meta.url));
const TRANSIENT = new Set(['Immediate', 'FSReqCallback', 'FSReqPromise']);

const directory = mkdtempSync(join(tmpdir(), 'bulkhead-cycles-'));
process.env.XDG_RUNTIME_DIR = directory;
process.env.XDG_STATE_HOME = directory;
const begin = () =>
  createRuntime({
    servers: { x: { command: process.execPath, args: [ECHO] } },
    logDir: join(directory, 'logs'),
  });

if (scene === 'server') {
  const runtime = await begin();
  await runtime.ready();
  for (let cycle = 1; cycle <= Number(times); cycle++) {
    await runtime.server('x').stop();
    await reach(runtime, 'stopped');
    await runtime.server('x').start();
    await reach(runtime, 'ready');
    await oneCall(runtime, cycle);
    say(cycle);
  }
  await runtime.close();
} else {
  for (let cycle = 1; cycle <= Number(times); cycle++) {
    const runtime = await begin();
    await runtime.ready();
    await oneCall(runtime, cycle);
    await runtime.close();
    say(cycle);
  }
}
rmSync(directory, { recursive: true, force: true });

/** Commands are answered apart from notices: the state follows a moment later. */
async function reach(runtime, state) {
  while (runtime.server('x').state !== state) await once(runtime, 'state');
}

/** `on` and `off` are all that a runtime has of an emitter. */
function once(runtime, event) {
  return new Promise((resolve) => {
    const heard = () => {
      runtime.off(event, heard);
      resolve();
    };
    runtime.on(event, heard);
  });
}

async function oneCall(runtime, cycle) {
  const result = await runtime.server('x').callTool('echo', { text: `cycle ${cycle}` });
  if (result.text() !== `cycle ${cycle}`) throw new Error(`cycle ${cycle} got ${result.raw}`);
}

function say(cycle) {
  globalThis.gc();
  const rows = descendants();
  const line = {
    cycle,
    rssBytes: process.memoryUsage.rss(),
    resources: process
      .getActiveResourcesInfo()
      .filter((type) => !TRANSIENT.has(type))
      .sort(),
    listeners: process.eventNames().map((name) => `${String(name)} ${process.listenerCount(name)}`),
    processes: rows.filter(({ state }) => state !== 'Z').length,
    zombies: rows.filter(({ state }) => state === 'Z').length,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
