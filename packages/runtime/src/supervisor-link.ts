/**
 * The agent's hold on the supervisor thread: starts it, speaks to it, notices its death. When it dies, the process
 * groups on the board are killed here, because nobody else is left to do it.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import {
  type Board,
  Control,
  entries,
  type SupervisorControl,
  type SupervisorInit,
  type SupervisorNotice,
} from '@bulkhead/workers';
import { requireThreadFiles } from './thread-files.js';

export type LinkInit = Omit<SupervisorInit, 'board' | 'notices' | 'control'>;

export class SupervisorLink {
  readonly control: Control<SupervisorControl>;
  readonly #worker: Worker;
  readonly #notices: MessagePort;
  readonly #exited: Promise<void>;
  #ending = false;

  constructor(
    board: Board,
    init: LinkInit,
    onNotice: (notice: SupervisorNotice) => void,
    onLost: (message: string) => void,
  ) {
    requireThreadFiles();
    const notices = new MessageChannel();
    const control = new MessageChannel();
    this.#notices = notices.port1;
    this.#worker = new Worker(entries.supervisor, {
      name: 'bulkhead supervisor',
      workerData: {
        ...init,
        board: board.buffer,
        notices: notices.port2,
        control: control.port2,
      } satisfies SupervisorInit,
      transferList: [notices.port2, control.port2],
      stdout: true,
      stderr: true,
      execArgv: [],
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    // An agent that forgets close() may still end: pending calls keep the loop alive, an idle runtime does not.
    this.#worker.unref();
    this.control = new Control<SupervisorControl>(control.port1, 'the supervisor');
    let cause = 'the supervisor thread ended unexpectedly';
    this.#worker.on('error', (error) => {
      cause = `the supervisor thread crashed: ${error.message}`;
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#notices.close();
        this.control.close();
        resolve();
        if (!this.#ending) onLost(cause);
      });
    });
    this.#notices.on('message', onNotice);
    this.#notices.unref();
  }

  /** How its event loop has spent its time, ms. */
  loopUse(): { active: number; idle: number } {
    return this.#worker.performance.eventLoopUtilization();
  }

  /** Ends the thread itself; its children must be down by then. */
  async end(): Promise<void> {
    this.#ending = true;
    await this.#worker.terminate();
    await this.#exited;
  }
}

/** SIGKILL to every process group that still stands on the board. */
export function killByBoard(board: Board): void {
  for (const pid of board.pids()) {
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
    } catch {
      // gone already
    }
  }
}
