/** Signals to a whole process group, and whether anybody in it still lives. A group's id stays reserved while it has members. */
import { readdirSync, readFileSync } from 'node:fs';

export function signalGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === 'win32' ? pgid : -pgid, signal);
  } catch {
    // ESRCH: nobody left; EPERM: a member changed its user, nothing we may do
  }
}

/** True while a member of the group is alive; a zombie is not (its own parent has yet to reap it). */
export function groupAlive(pgid: number): boolean {
  try {
    process.kill(process.platform === 'win32' ? pgid : -pgid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return process.platform === 'linux' ? hasLivingMember(pgid) : true;
}

/** kill(2) counts zombies as members, so on Linux the state of each member is read from /proc. */
function hasLivingMember(pgid: number): boolean {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      // The command name may hold spaces and parentheses: fields start after the last one.
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(group) === pgid && state !== 'Z' && state !== 'X') return true;
    } catch {
      // gone meanwhile
    }
  }
  return false;
}
