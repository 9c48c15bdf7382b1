/**
 * The pool for stateless CPU work that must block neither the agent nor a session. Created on first use; its threads
 * hold no session, so a task that is aborted or dies costs only itself.
 */
import { BulkheadError, entries, type ShapeAnswer, type ShapeTask } from '@bulkhead/workers';
import { Piscina } from 'piscina';
import type { ShapedResult, ToolResult } from './api.js';
import type { Lent } from './held-bytes.js';
import { LaneToolResult } from './result.js';

/** Default budget of a shaped text in bytes of UTF-8: about 25 000 tokens at four bytes each. */
const SHAPE_MAX_BYTES = 100_000;
const SHAPE_MIN_BYTES = 1_000;
/** Room for the longest result that is parsed there (64 MiB), twice as text of two bytes a character, and a third time as blocks. */
const POOL_HEAP_MB = 1_024;

export class CpuPool {
  #piscina: Piscina<ShapeTask, ShapeAnswer> | undefined;

  /** @throws {BulkheadError} `CANCELLED` when the signal aborts, `BAD_INPUT` for a budget below 1 000 bytes. */
  async shape(
    result: ToolResult,
    options: { maxBytes?: number; directory: string; signal?: AbortSignal },
  ): Promise<ShapedResult> {
    const maxBytes = options.maxBytes ?? SHAPE_MAX_BYTES;
    if (!(maxBytes >= SHAPE_MIN_BYTES)) {
      throw new BulkheadError(
        'BAD_INPUT',
        `expected "maxBytes" to be at least ${SHAPE_MIN_BYTES}, got ${maxBytes}`,
      );
    }
    const { directory, signal } = options;
    const cancelled = (cause?: unknown) =>
      new BulkheadError('CANCELLED', 'the shaping of a result was cancelled', { cause });
    const lent = await sourceOf(result);
    const stop = new AbortController();
    // A thread that is ended takes with it what it was lent: first the bytes come home.
    const cancel = (): void => lent.whenHere(() => stop.abort());
    try {
      if (signal?.aborted === true) throw cancelled();
      signal?.addEventListener('abort', cancel, { once: true });
      const { source, transfer } = lent;
      const task: ShapeTask = { source, maxBytes, directory };
      return await this.#pool().run(task, {
        name: 'shape',
        transferList: transfer as never[],
        signal: stop.signal,
      });
    } catch (cause) {
      if (stop.signal.aborted) throw cancelled(cause);
      throw cause;
    } finally {
      signal?.removeEventListener('abort', cancel);
      lent.end();
    }
  }

  async close(): Promise<void> {
    await this.#piscina?.destroy();
    this.#piscina = undefined;
  }

  #pool(): Piscina<ShapeTask, ShapeAnswer> {
    this.#piscina ??= new Piscina<ShapeTask, ShapeAnswer>({
      filename: entries.pool.href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: 5_000,
      maxQueue: 256,
      resourceLimits: { maxOldGenerationSizeMb: POOL_HEAP_MB },
      execArgv: [],
    });
    return this.#piscina;
  }
}

/** A result of our own is read in the pool. Another implementation of the interface only has its text to give. */
async function sourceOf(result: ToolResult): Promise<Lent> {
  if (result instanceof LaneToolResult) return result.lend();
  const source = { kind: 'text', text: result.text() } as const;
  return { source, transfer: [], whenHere: (run) => run(), end: () => {} };
}
