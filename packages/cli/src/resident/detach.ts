/**
 * A resident in a session of its own: started here, told about by the message that it is up, or by its exit status and
 * what it wrote until then.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { residentLog } from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import type { Context } from '../context.js';

/** What the resident sends once; see `ServeOptions.onUp`. */
export interface UpMessage {
  up: { name: string; pid: number; socket: string; servers: number };
}

/** Loading the files and taking the name; servers are not waited for. */
const UP_MS = 30_000;
/** A log longer than this makes way at the next start; one older is kept. */
const LOG_MAX_BYTES = 1024 * 1024;

/** Either what it said when it was up, or how it ended before that. */
export type Detached = { up: UpMessage['up']; log: string } | { exitCode: number; said: string };

/** @param args of `bulkhead`, without `--detach`. @throws {BulkheadError} `START_TIMEOUT`. */
export async function startDetached(
  name: string,
  args: readonly string[],
  { interrupt }: Context,
): Promise<Detached> {
  const log = residentLog(name);
  const file = openLog(log);
  const from = statSync(log).size;
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, main, ...args], {
    detached: true,
    stdio: ['ignore', file, file, 'ipc'],
  });
  closeSync(file);
  let late: NodeJS.Timeout | undefined;
  const ended = new Promise<Detached>((resolve, reject) => {
    late = setTimeout(() => {
      const message = `the resident was not up after ${UP_MS} ms; what it said is in ${log}`;
      reject(new BulkheadError('START_TIMEOUT', message));
    }, UP_MS);
    child.once('error', reject);
    child.once('message', (message) => resolve({ up: (message as UpMessage).up, log }));
    child.once('exit', (code) =>
      resolve({ exitCode: code ?? 1, said: readFileSync(log, 'utf8').slice(from) }),
    );
  });
  try {
    const detached = await interrupt.race(ended);
    if (child.connected) child.disconnect();
    child.unref();
    return detached;
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  } finally {
    clearTimeout(late);
  }
}

function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    if (statSync(path).size > LOG_MAX_BYTES) renameSync(path, `${path}.1`);
  } catch {
    // none yet
  }
  return openSync(path, 'a', 0o600);
}
