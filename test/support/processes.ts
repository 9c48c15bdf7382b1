/**
 * The kernel's list of processes: who is whose child, who is a zombie. `/proc` on Linux, `ps` elsewhere.
 * A zombie counts as gone for `alive()`, but is listed: somebody owes it a wait.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessRow {
  pid: number;
  parent: number;
  /** The kernel's letter: R, S, D, T, Z … */
  state: string;
  command: string;
}

/** Children, their children and so on; without the `ps` that lists them. */
export function descendants(of: number = process.pid): ProcessRow[] {
  const byParent = new Map<number, ProcessRow[]>();
  for (const row of allProcesses()) byParent.set(row.parent, [...(byParent.get(row.parent) ?? []), row]);
  const found: ProcessRow[] = [];
  const open = [of];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const row of byParent.get(pid) ?? []) {
      found.push(row);
      open.push(row.pid);
    }
  }
  return found;
}

export function processRow(pid: number): ProcessRow | undefined {
  return process.platform === 'linux' ? readProc(pid) : allProcesses().find((row) => row.pid === pid);
}

/** False for a zombie: it runs nothing any more. */
export function alive(pid: number): boolean {
  const row = processRow(pid);
  return row !== undefined && !row.state.startsWith('Z');
}

/** `4711 (S) node server.mjs`, for a message. */
export function describeProcess(row: ProcessRow): string {
  const command = row.command.length > 160 ? `${row.command.slice(0, 160)}…` : row.command;
  return `${row.pid} (${row.state}) ${command}`;
}

function allProcesses(): ProcessRow[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => readProc(Number(name)) ?? []);
  }
  const listing = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,command='], { encoding: 'utf8' });
  return listing.split('\n').flatMap((line) => {
    const [, pid, parent, state = '?', command = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || command.startsWith('ps -A')) return [];
    return [{ pid: Number(pid), parent: Number(parent), state: state.charAt(0), command }];
  });
}

function readProc(pid: number): ProcessRow | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in brackets and may hold brackets and blanks itself: read from the last one on.
    const nameEnd = stat.lastIndexOf(')');
    const [state = '?', parent = '0'] = stat.slice(nameEnd + 2).split(' ');
    // Empty for a zombie: its name is all that is left.
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    const name = stat.slice(stat.indexOf('(') + 1, nameEnd);
    return { pid, parent: Number(parent), state, command: command === '' ? `[${name}]` : command };
  } catch {
    return undefined;
  }
}
