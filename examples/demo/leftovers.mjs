/** Processes that carry the mark of a run in their environment: the servers, the host, and whatever they started. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const GRACE_MS = 2_000;
const POLL_MS = 50;

/** Waits a moment for the last ones to be reaped. @returns {Promise<string[]>} pid and command line of each */
export async function leftovers(variable, value) {
  const end = performance.now() + GRACE_MS;
  for (;;) {
    const left = marked(`${variable}=${value}`);
    if (left.length === 0 || performance.now() >= end) return left;
    await wait(POLL_MS);
  }
}

function marked(mark) {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && read(pid, 'environ').split('\0').includes(mark))
      .map((pid) => `${pid} ${read(pid, 'cmdline').replaceAll('\0', ' ')}`);
  }
  // Windows has no ps and shows no other process's environment: nothing is claimed there.
  if (process.platform === 'win32') return [];
  const listing = execFileSync('ps', ['-AwwE', '-o', 'pid=,command='], { encoding: 'utf8' });
  return listing.split('\n').filter((line) => line.includes(mark));
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // Gone meanwhile, or somebody else's.
    return '';
  }
}
