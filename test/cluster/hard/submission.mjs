/**
 * A submission whose process is killed once part of the input is in the store, and then continued with the same file. Short
 * inputs go into the store in one step: there is nothing in between, and they are submitted as they are.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { clusterDefaults } from '../../../packages/cluster/dist/defaults.js';

const COMMAND = fileURLToPath(new URL('../../../packages/cli/dist/main.js', import.meta.url));
const POLL_MS = 5;

/** @returns {Promise<{id: string, lines: number, continued: boolean}>} */
export async function submitTwice(cluster, { redis, input, batch, calls, say }) {
  if (calls < 2 * clusterDefaults.chunksAtOnce * clusterDefaults.chunkLines)
    return cluster.submit({ input, batch });
  const child = spawn(process.execPath, [COMMAND, 'submit', input, '--batch', batch, '--redis', redis], {
    stdio: 'ignore',
  });
  const exit = once(child, 'exit');
  let ended = false;
  void exit.then(() => {
    ended = true;
  });
  while (!ended && (await linesOf(cluster, batch)) === 0) await wait(POLL_MS);
  child.kill('SIGKILL');
  await exit;
  say(`submitter killed with ${await linesOf(cluster, batch)} of ${calls} lines in the store, and continued`);
  return cluster.submit({ input, batch });
}

async function linesOf(cluster, batch) {
  return (await cluster.batches()).find(({ id }) => id === batch)?.lines ?? 0;
}
