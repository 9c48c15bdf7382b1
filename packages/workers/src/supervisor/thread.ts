/** One server thread as the supervisor holds it: started, spoken to, terminated within a limit, or counted as lost. */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { Control } from '../control.js';
import { BulkheadError } from '../errors.js';
import type { ServerControl, ServerNotice, ServerThreadInit } from '../protocol.js';

export interface ThreadEnd {
  /** `memory` when V8 hit the thread's resource limits, `crash` for an uncaught error, `exit` otherwise. */
  kind: 'memory' | 'crash' | 'exit';
  message: string;
}

export type ThreadInit = Omit<ServerThreadInit, 'notices' | 'control'>;

export class ServerThreadHandle {
  readonly generation: number;
  readonly control: Control<ServerControl>;
  /** Resolves when the thread has ended, however. Never rejects. */
  readonly ended: Promise<ThreadEnd>;
  readonly #worker: Worker;
  readonly #notices: MessagePort;
  readonly #online: Promise<void>;
  #gone = false;

  constructor(entry: URL, init: ThreadInit, heapMb: number, onNotice: (notice: ServerNotice) => void) {
    this.generation = init.generation;
    const notices = new MessageChannel();
    const control = new MessageChannel();
    this.#notices = notices.port1;
    const name = `bulkhead server ${init.name} #${init.generation}`;
    this.#worker = new Worker(entry, {
      name,
      workerData: { ...init, notices: notices.port2, control: control.port2 } satisfies ServerThreadInit,
      transferList: [notices.port2, control.port2],
      // Libraries print to the console; that must reach neither the host's stdout nor its terminal.
      stdout: true,
      stderr: true,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    this.control = new Control<ServerControl>(control.port1, name);
    this.ended = new Promise((resolve) => {
      let end: ThreadEnd | undefined;
      this.#worker.once('error', (error: Error & { code?: string }) => {
        const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        end = {
          kind: memory ? 'memory' : 'crash',
          message: memory
            ? `the server thread ran out of memory (limit ${heapMb} MB)`
            : `the server thread crashed: ${error.message}`,
        };
      });
      this.#worker.once('exit', (code) => {
        this.#gone = true;
        this.#notices.close();
        this.control.close();
        resolve(end ?? { kind: 'exit', message: `the server thread ended with code ${code}` });
      });
    });
    this.#online = new Promise((resolve) => {
      this.#notices.on('message', (notice: ServerNotice) => {
        if (notice.type === 'online') resolve();
        else onNotice(notice);
      });
    });
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** @throws {BulkheadError} `START_FAILED` when the thread ended before it was online. */
  async online(): Promise<void> {
    const end = await Promise.race([this.#online, this.ended]);
    if (end !== undefined) throw new BulkheadError('START_FAILED', end.message, { data: { kind: 'thread' } });
  }

  /** Terminates a thread that may be spinning. False when it did not end in time: the thread is lost. */
  async terminate(graceMs: number): Promise<boolean> {
    if (this.#gone) return true;
    void this.#worker.terminate();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([this.ended, late]);
    clearTimeout(timer);
    if (!this.#gone) this.#worker.unref();
    return this.#gone;
  }
}
