/**
 * Server threads as the supervisor holds them. An idle thread has loaded its code and waits for a server; a handle is
 * the same thread with its server: spoken to, terminated within a limit, or counted as lost.
 */
import { MessageChannel, type MessagePort, SHARE_ENV, Worker } from 'node:worker_threads';
import { Control } from '../control.js';
import { BulkheadError } from '../errors.js';
import type { ServerControl, ServerNotice, ServerThreadBoot, ServerThreadInit } from '../protocol.js';

export interface ThreadEnd {
  /** `memory` when V8 hit the thread's resource limits, `crash` for an uncaught error, `exit` otherwise. */
  kind: 'memory' | 'crash' | 'exit';
  message: string;
}

export interface ThreadOptions {
  entry: URL;
  /** Heap limit, in MB. */
  heapMb: number;
  /** Load the client of the older era at once: most servers need it. */
  warm: boolean;
}

/** Enough for the small strings of calls: V8's own 48 MB cost a busy thread 20 MB more and save no time. */
const YOUNG_MB = 4;

export class IdleThread {
  /** Resolves when the thread has ended, however. Never rejects. */
  readonly ended: Promise<ThreadEnd>;
  readonly worker: Worker;
  readonly notices: MessagePort;
  readonly control: MessagePort;
  readonly #online: Promise<void>;
  #gone = false;

  constructor({ entry, heapMb, warm }: ThreadOptions) {
    const notices = new MessageChannel();
    const control = new MessageChannel();
    this.notices = notices.port1;
    this.control = control.port1;
    this.worker = new Worker(entry, {
      name: 'bulkhead server',
      workerData: {
        notices: notices.port2,
        control: control.port2,
        warm,
      } satisfies ServerThreadBoot,
      transferList: [notices.port2, control.port2],
      // Libraries print to the console; that must reach neither the host's stdout nor its terminal.
      stdout: true,
      stderr: true,
      execArgv: [],
      env: SHARE_ENV, // nothing here writes to it, and a copy for each thread is only memory
      trackUnmanagedFds: false,
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.worker.stdout.resume();
    this.worker.stderr.resume();
    this.ended = new Promise((resolve) => {
      let end: ThreadEnd | undefined;
      this.worker.once('error', (error: Error & { code?: string }) => {
        const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        end = {
          kind: memory ? 'memory' : 'crash',
          message: memory
            ? `the server thread ran out of memory (limit ${heapMb} MB)`
            : `the server thread crashed: ${error.message}`,
        };
      });
      this.worker.once('exit', (code) => {
        this.#gone = true;
        this.notices.close();
        this.control.close();
        resolve(end ?? { kind: 'exit', message: `the server thread ended with code ${code}` });
      });
    });
    this.#online = new Promise((resolve) => {
      const look = ({ type }: ServerNotice) => {
        if (type !== 'online') return;
        this.notices.off('message', look);
        resolve();
      };
      this.notices.on('message', look);
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
    void this.worker.terminate();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([this.ended, late]);
    clearTimeout(timer);
    if (!this.#gone) this.worker.unref();
    return this.#gone;
  }
}

export class ServerThreadHandle {
  readonly generation: number;
  readonly control: Control<ServerControl>;
  readonly ended: Promise<ThreadEnd>;
  readonly #thread: IdleThread;

  constructor(thread: IdleThread, init: ServerThreadInit, onNotice: (notice: ServerNotice) => void) {
    this.#thread = thread;
    this.generation = init.generation;
    this.control = new Control(thread.control, `bulkhead server ${init.name} #${init.generation}`);
    this.ended = thread.ended.then((end) => {
      this.control.close();
      return end;
    });
    thread.notices.on('message', onNotice);
    thread.worker.ref(); // a spare holds nothing open, a server does
    thread.worker.postMessage(init);
  }

  get gone(): boolean {
    return this.#thread.gone;
  }

  /** How its event loop has spent its time, ms; undefined once it is gone. */
  loopUse(): { active: number; idle: number } | undefined {
    return this.gone ? undefined : this.#thread.worker.performance.eventLoopUtilization();
  }

  /** @throws {BulkheadError} `START_FAILED` when the thread ended before it was online. */
  online(): Promise<void> {
    return this.#thread.online();
  }

  /** Terminates a thread that may be spinning. False when it did not end in time: the thread is lost. */
  terminate(graceMs: number): Promise<boolean> {
    return this.#thread.terminate(graceMs);
  }
}
