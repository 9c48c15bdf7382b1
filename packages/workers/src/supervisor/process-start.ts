/** Tells a process from a later one of the same number: by when it started. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** When a process started, as a comparable word; undefined when there is no such process (a zombie counts as none). */
export function startOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // proc(5): field 3 is the state, field 22 the start time; the name in field 2 may hold spaces.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' ? undefined : fields[19];
    }
    const text = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
