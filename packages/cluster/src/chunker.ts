/**
 * Lines to chunks, by the queue that each line belongs in. The same lines always give the same chunks with the same ids,
 * whatever the pieces in which the input is read. Pure.
 */
import type { InputLine } from '@bulkhead/runtime/batch';
import type { Chunk } from './chunk.js';
import { clusterDefaults } from './defaults.js';
import type { BatchPlan, QueueRecord } from './ledger.js';
import { chunkId, queueName, routeOf, shardOf } from './queue-names.js';

export interface NewChunk {
  id: string;
  queue: QueueRecord;
  data: Chunk;
}

interface OpenChunk {
  queue: QueueRecord;
  lines: Chunk['lines'];
  bytes: number;
}

export class Chunker {
  readonly #batch: string;
  readonly #plan: BatchPlan;
  readonly #open = new Map<string, OpenChunk>();
  /** Chunks made so far, by queue. */
  readonly #made = new Map<string, number>();
  #openBytes = 0;

  constructor(batch: string, plan: BatchPlan) {
    this.#batch = batch;
    this.#plan = plan;
  }

  /** The chunks that the line completes. */
  add(
    { line, text = '', bytes }: InputLine,
    call: { server: string | undefined; tool: string; affinity: string | undefined },
  ): NewChunk[] {
    const queue = this.#queueOf(call);
    const done: NewChunk[] = [];
    let open = this.#open.get(queue.queue);
    if (open !== undefined && open.bytes + bytes > clusterDefaults.chunkBytes) {
      done.push(this.#finish(open));
      open = undefined;
    }
    if (open === undefined) {
      open = { queue, lines: [], bytes: 0 };
      this.#open.set(queue.queue, open);
    }
    open.lines.push([line, text]);
    open.bytes += bytes;
    this.#openBytes += bytes;
    if (open.lines.length >= this.#plan.chunkLines) done.push(this.#finish(open));
    // Many servers and keys with a few lines each.
    if (this.#openBytes > clusterDefaults.openChunkBytes) done.push(...this.end());
    return done;
  }

  /** What is left. */
  end(): NewChunk[] {
    return [...this.#open.values()].map((open) => this.#finish(open));
  }

  #finish({ queue, lines, bytes }: OpenChunk): NewChunk {
    const index = this.#made.get(queue.queue) ?? 0;
    this.#made.set(queue.queue, index + 1);
    this.#open.delete(queue.queue);
    this.#openBytes -= bytes;
    return {
      id: chunkId(this.#batch, queue.queue, index),
      queue,
      data: { batch: this.#batch, lines },
    };
  }

  #queueOf({
    server,
    tool,
    affinity,
  }: {
    server: string | undefined;
    tool: string;
    affinity: string | undefined;
  }): QueueRecord {
    const route = routeOf(server, tool);
    const shard = affinity === undefined ? undefined : shardOf(affinity, this.#plan.shards);
    return { queue: queueName(route, shard), server: route, shard };
  }
}
