/**
 * The kernel's view of a run: who hangs below this process, who is a zombie, who carries the run's mark in its
 * environment (a grandchild that was re-parented is no descendant any more, but it keeps the mark). `/proc` on Linux;
 * elsewhere `ps`, without the marks.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const linux = process.platform === 'linux';

/** @returns {{pid: number, parent: number, state: string, command: string}[]} children, their children and so on */
export function descendants() {
  const byParent = new Map();
  for (const row of rows()) byParent.set(row.parent, [...(byParent.get(row.parent) ?? []), row]);
  const found = [];
  const open = [process.pid];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const row of byParent.get(pid) ?? []) {
      found.push(row);
      open.push(row.pid);
    }
  }
  return found;
}

/** Living processes that carry `variable=value`. @returns {{pid: number, command: string}[]} */
export function marked(variable, value) {
  if (!linux) return [];
  return pids()
    .filter((pid) => hasMark(pid, variable, value))
    .map((pid) => ({ pid, command: read(pid, 'cmdline').replaceAll('\0', ' ').slice(0, 160) }));
}

/**
 * A signal to the process if it is still one of this run: a pid that was read a moment ago may be somebody else's now.
 * @returns {boolean} whether it was sent
 */
export function signalMarked(pid, signal, variable, value) {
  if (!isOfRun(pid, variable, value)) return false;
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Whether the process lives and is of the run; without `/proc` whether it lives. */
export function isOfRun(pid, variable, value) {
  if (linux) return hasMark(pid, variable, value);
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function hasMark(pid, variable, value) {
  return read(pid, 'environ').split('\0').includes(`${variable}=${value}`);
}

function rows() {
  if (linux) return pids().flatMap((pid) => row(pid) ?? []);
  const listing = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,command='], { encoding: 'utf8' });
  return listing.split('\n').flatMap((line) => {
    const [, pid, parent, state, command = ''] = /^\s*(\d+)\s+(\d+)\s+(\S)\S*\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || command.startsWith('ps -A')) return [];
    return [{ pid: Number(pid), parent: Number(parent), state, command }];
  });
}

function row(pid) {
  const stat = read(pid, 'stat');
  if (stat === '') return undefined;
  // The name stands in brackets and may hold brackets itself: read from the last one on.
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, parent: Number(parent), state, command: read(pid, 'cmdline').replaceAll('\0', ' ') };
}

function pids() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // Gone meanwhile, or somebody else's.
    return '';
  }
}
