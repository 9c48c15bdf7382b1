/** The process that a server has at the moment, and which of those that it had are confirmed gone. */
import type { Board } from '../board.js';
import type { Launch, SupervisorOptions } from '../protocol.js';
import { ServerProcess } from './process.js';
import type { StderrLog } from './stderr-log.js';

/** Pids to report at the end: all that are still there, and this many in all. */
const MAX_PIDS = 16;

/** What of the child's context a process needs. */
export interface ProcessContext {
  board: Board;
  options: SupervisorOptions;
  groups: { add: (pgid: number) => void; remove: (pgid: number) => void };
}

export class ProcessSlot {
  readonly #slot: number;
  readonly #context: ProcessContext;
  readonly #log: StderrLog;
  readonly #pids = new Map<number, boolean>();
  #process: ServerProcess | undefined;

  constructor(slot: number, context: ProcessContext, log: StderrLog) {
    this.#slot = slot;
    this.#context = context;
    this.#log = log;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Of the processes there were, at least those that are not confirmed gone. */
  get pids(): { pid: number; gone: boolean }[] {
    return [...this.#pids].map(([pid, gone]) => ({ pid, gone }));
  }

  /** @throws {BulkheadError} as `ServerProcess.spawn` does. */
  async spawn(launch: Extract<Launch, { type: 'stdio' }>, socketPath: string): Promise<ServerProcess> {
    this.#process = await ServerProcess.spawn(launch, socketPath, this.#log, (pid) => {
      this.#pids.set(pid, false);
      this.#context.board.set(this.#slot, 'pid', pid);
      this.#context.groups.add(pid);
    });
    return this.#process;
  }

  /** Down the ladder, from the end of its input (`endInput`) to SIGKILL. */
  async end(endInput: () => void): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    const gone = await process.end(endInput, this.#context.options);
    this.#pids.set(process.pid, gone);
    if (gone) {
      this.#context.board.set(this.#slot, 'pid', 0);
      this.#context.groups.remove(process.pid);
    }
    for (const [pid, isGone] of this.#pids) {
      if (this.#pids.size <= MAX_PIDS) break;
      if (isGone) this.#pids.delete(pid);
    }
    this.#process = undefined;
  }

  /** No more grace: SIGKILL to the group now; the ladder finds it gone. */
  killNow(): void {
    void this.#process?.kill(0);
  }
}
