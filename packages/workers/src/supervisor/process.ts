/**
 * One server process: spawned on a socket whose other end a server thread holds, in its own process group, reaped
 * here. The kill ladder is one routine for every path: EOF on stdin → SIGTERM to the group → SIGKILL to the group.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { BulkheadError } from '../errors.js';
import type { Launch, ProcessEnd } from '../protocol.js';
import { groupAlive, signalGroup } from './process-group.js';
import type { StderrLog } from './stderr-log.js';

/** After `exit`, how long the rest of stderr may take (a grandchild can hold the pipe for ever). */
const STDERR_GRACE_MS = 100;

export interface KillOptions {
  eofGraceMs: number;
  termGraceMs: number;
  killGraceMs: number;
}

export class ServerProcess {
  readonly pid: number;
  /** Resolves when the process was reaped. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  #gone = false;

  private constructor(child: ChildProcess, log: StderrLog) {
    this.pid = child.pid as number;
    this.ended = new Promise((resolve) => {
      // Death is known by `exit`, not by `close`: a grandchild can hold the pipes.
      child.once('exit', (code, signal) => {
        const finish = () => resolve({ code, signal, stderr: log.tail() });
        const stderr = child.stderr;
        if (stderr === null || stderr.closed) return finish();
        const timer = setTimeout(done, STDERR_GRACE_MS);
        stderr.once('close', done);
        function done() {
          clearTimeout(timer);
          stderr?.off('close', done);
          stderr?.destroy();
          finish();
        }
      });
    });
    void this.ended.then(() => {
      this.#gone = true;
    });
  }

  /**
   * Connects to the thread's socket and spawns the command on it. `onPid` is called at the moment of spawn, before
   * anything is awaited: a pid that is on the board can be killed whatever happens next.
   * @throws {BulkheadError} `START_FAILED` with `data.kind` `cwd` or `spawn` and `data.errno`.
   */
  static async spawn(
    launch: Extract<Launch, { type: 'stdio' }>,
    socketPath: string,
    log: StderrLog,
    onPid: (pid: number) => void,
  ): Promise<ServerProcess> {
    requireDirectory(launch.cwd);
    const socket = await connectTo(socketPath);
    try {
      const child = spawn(launch.command, launch.args, {
        cwd: launch.cwd,
        env: Object.fromEntries(launch.env),
        stdio: [socket, socket, 'pipe'],
        detached: true,
        windowsHide: true,
      });
      if (child.pid !== undefined) onPid(child.pid);
      if (child.stderr !== null) log.follow(child.stderr);
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', (error: NodeJS.ErrnoException) => reject(spawnError(launch, error)));
      });
      child.on('error', () => {}); // a failed kill() is answered by the ladder, not by an exception
      return new ServerProcess(child, log);
    } catch (error) {
      throw error instanceof BulkheadError ? error : spawnError(launch, error as NodeJS.ErrnoException);
    } finally {
      socket.destroy(); // ours only; the child has its own descriptor
    }
  }

  get gone(): boolean {
    return this.#gone && !groupAlive(this.pid);
  }

  /**
   * Ends the process and everything in its group. Always settles; true when all of it is gone.
   * @param endInput gives the server EOF on stdin (the socket's other end is in its thread).
   */
  async end(endInput: () => void, grace: KillOptions): Promise<boolean> {
    if (!this.#gone) {
      endInput();
      if (!(await this.#within(grace.eofGraceMs))) {
        signalGroup(this.pid, 'SIGTERM');
        await this.#within(grace.termGraceMs);
      }
    }
    // A stopped process takes no SIGTERM, and a launcher that left can leave its server behind in the group.
    if (groupAlive(this.pid) && this.#gone) {
      signalGroup(this.pid, 'SIGTERM');
      await this.#groupGone(grace.termGraceMs);
    }
    if (!this.#gone || groupAlive(this.pid)) {
      signalGroup(this.pid, 'SIGKILL');
      await this.#within(grace.killGraceMs);
      await this.#groupGone(grace.killGraceMs);
    }
    return this.gone;
  }

  /** SIGKILL to the whole group at once. */
  async kill(graceMs: number): Promise<boolean> {
    signalGroup(this.pid, 'SIGKILL');
    await this.#within(graceMs);
    await this.#groupGone(graceMs);
    return this.gone;
  }

  async #within(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([this.ended, late]);
    clearTimeout(timer);
    return this.#gone;
  }

  /** Members of the group that are not our children give no event: the kernel is asked, bounded. */
  async #groupGone(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (groupAlive(this.pid) && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** A missing cwd makes spawn report ENOENT of the command: the wrong culprit. */
function requireDirectory(cwd: string): void {
  let isDirectory = false;
  try {
    isDirectory = statSync(cwd).isDirectory();
  } catch {
    // reported below
  }
  if (!isDirectory) {
    throw new BulkheadError('START_FAILED', `the working directory ${cwd} does not exist; check "cwd"`, {
      data: { kind: 'cwd', cwd },
    });
  }
}

function spawnError(launch: Extract<Launch, { type: 'stdio' }>, error: NodeJS.ErrnoException): BulkheadError {
  const { command } = launch;
  const text =
    error.code === 'ENOENT'
      ? `the command "${command}" was not found; check "command" and the PATH that the server gets`
      : error.code === 'EACCES'
        ? `the command "${command}" is not executable; check its permissions`
        : `the command "${command}" could not be started: ${error.message}`;
  return new BulkheadError('START_FAILED', text, {
    data: { kind: 'spawn', errno: error.code ?? 'unknown' },
    cause: error,
  });
}
