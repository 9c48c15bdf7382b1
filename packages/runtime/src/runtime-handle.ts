/** The handle of a runtime for one other thread: what it carries, and the ways in which it cannot be used. */
import { MessagePort, type Transferable, threadId } from 'node:worker_threads';
import { BulkheadError, type HandlerSet } from '@bulkhead/workers';
import type { Findings } from './agent-messages.js';
import type { Limits } from './limits.js';

export const HANDLE_FORMAT = 'bulkhead-runtime-1';

/**
 * What `runtime.attach()` gives, for exactly one other thread: `worker.postMessage(handle, handle.transfer)`, or
 * `new Worker(file, {workerData: handle, transferList: handle.transfer})`. It holds no secret of any server.
 */
export interface RuntimeHandle {
  readonly format: typeof HANDLE_FORMAT;
  /** Id of the thread that owns the runtime. */
  readonly ownerThread: number;
  readonly news: MessagePort;
  readonly control: MessagePort;
  readonly board: SharedArrayBuffer;
  readonly limits: Limits;
  /** What the owner answers for an attached agent that has no handler of its own. */
  readonly handlers: HandlerSet;
  /** Private directory of the runtime, the default place of shaped results. */
  readonly runDir: string;
  readonly findings: Findings;
  /** Calls pass the owner's gate. */
  readonly gated: boolean;
  /** The owner wants an account of every call. */
  readonly witnessed: boolean;
  /** Everything that must be moved and cannot be copied. */
  readonly transfer: Transferable[];
}

const used = new WeakSet<MessagePort>();

/**
 * Takes a handle for use in this thread.
 * @throws {BulkheadError} `BAD_INPUT` when it was never transferred, was used already, or is none.
 */
export function claimHandle(handle: unknown): asserts handle is RuntimeHandle {
  const given = handle as Partial<RuntimeHandle> | null | undefined;
  const next = 'pass what runtime.attach() gave with worker.postMessage(handle, handle.transfer)';
  if (given?.format !== HANDLE_FORMAT)
    throw new BulkheadError('BAD_INPUT', `attachRuntime expects a handle, got something else; ${next}`);
  if (!(given.news instanceof MessagePort) || !(given.control instanceof MessagePort))
    throw new BulkheadError('BAD_INPUT', `the handle lost its ports on the way; ${next}`);
  if (given.ownerThread === threadId) {
    throw new BulkheadError(
      'BAD_INPUT',
      `this handle was never transferred: it is for another thread than the one that owns the runtime; ${next}`,
    );
  }
  if (used.has(given.news)) {
    throw new BulkheadError(
      'BAD_INPUT',
      'this handle was used already: each attached agent takes one of its own from runtime.attach()',
    );
  }
  used.add(given.news);
}
