/**
 * The guard: a tiny shell that outlives a SIGKILLed host. It reads group ids from a pipe; when the pipe ends without
 * a word, the host is dead, and what did not leave on EOF is ended: SIGTERM after a moment, SIGKILL after another.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** Portable sh. `+ id` adds a group, `- id` takes it away, `q` is a farewell. */
const SCRIPT = `
groups=
while read -r op id; do
  case $op in
    +) groups="$groups $id" ;;
    -) rest=; for g in $groups; do [ "$g" = "$id" ] || rest="$rest $g"; done; groups=$rest ;;
    q) exit 0 ;;
  esac
done
[ -n "$groups" ] || exit 0
sleep 1
for g in $groups; do kill -s TERM -- "-$g"; done
sleep 1
for g in $groups; do kill -s KILL -- "-$g"; done
`;

export class Guard {
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();

  add(pgid: number): void {
    this.#say(`+ ${pgid}`);
  }

  remove(pgid: number): void {
    if (this.#child !== undefined) this.#say(`- ${pgid}`);
  }

  /** Sends it home and reaps it. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#say('q');
    this.#child = undefined;
    child.stdin?.end();
    await this.#ended;
  }

  #say(line: string): void {
    this.#child ??= this.#start();
    this.#child.stdin?.write(`${line}\n`);
  }

  #start(): ChildProcess {
    // Its own session: a Ctrl-C in the terminal must not take it along.
    const child = spawn('/bin/sh', ['-c', SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
    });
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve()); // no shell (Windows): EOF and the run file remain
    });
    child.stdin?.on('error', () => {});
    return child;
  }
}
