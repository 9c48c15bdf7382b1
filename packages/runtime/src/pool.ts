/**
 * The pool for stateless CPU work that must block neither the agent nor a session. Created on first use; its threads
 * hold no session, so a task that is aborted or dies costs only itself.
 */
import { BulkheadError, entries, type ShapeAnswer, type ShapeTask } from '@bulkhead/workers';
import { Piscina } from 'piscina';
import type { ShapedResult, ToolResult } from './api.js';

/** Default budget of a shaped text in bytes of UTF-8: about 25 000 tokens at four bytes each. */
const SHAPE_MAX_BYTES = 100_000;
const SHAPE_MIN_BYTES = 1_000;

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
    const task: ShapeTask = { text: result.text(), maxBytes, directory: options.directory };
    try {
      return await this.#pool().run(task, {
        name: 'shape',
        ...(options.signal && { signal: options.signal }),
      });
    } catch (cause) {
      if (options.signal?.aborted)
        throw new BulkheadError('CANCELLED', 'the shaping of a result was cancelled', { cause });
      throw cause;
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
      resourceLimits: { maxOldGenerationSizeMb: 512 },
      execArgv: [],
    });
    return this.#piscina;
  }
}
