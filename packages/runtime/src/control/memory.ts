/** Resident memory of processes. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Bytes by pid; what cannot be read is left out. Never rejects. */
export async function residentMemory(pids: readonly number[]): Promise<Map<number, number>> {
  if (pids.length === 0) return new Map();
  const found =
    process.platform === 'linux' ? await Promise.all(pids.map(fromProc)) : await fromPs(pids).catch(() => []);
  return new Map(found.filter((entry) => entry !== undefined));
}

async function fromProc(pid: number): Promise<[number, number] | undefined> {
  const text = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1];
  return kib === undefined ? undefined : [pid, Number(kib) * 1_024];
}

async function fromPs(pids: readonly number[]): Promise<[number, number][]> {
  if (process.platform === 'win32') return [];
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,rss=', '-p', pids.join(',')]);
  return [...stdout.matchAll(/^\s*(\d+)\s+(\d+)\s*$/gm)].map(([, pid, kib]) => [
    Number(pid),
    Number(kib) * 1_024,
  ]);
}
