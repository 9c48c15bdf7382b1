/**
 * The answer of a tool as it came over the lane: exact JSON text or bytes, decoded only when somebody looks. A result
 * that is passed on as `raw` is never parsed on the agent's thread.
 */
import { type LaneExtra, type ResultReading, readResult, resultText } from '@bulkhead/workers';
import type { ContentBlock, SpillFacts, Timing, ToolResult } from './api.js';
import type { PendingCall } from './call.js';
import { HeldBytes, type Lent } from './held-bytes.js';
import { SpilledFile } from './spilled-file.js';

const NO_WARNINGS: readonly string[] = [];

export class LaneToolResult implements ToolResult {
  readonly isError: boolean;
  readonly attempts: number;
  readonly server: string;
  readonly tool: string;
  readonly #queueMs: number;
  readonly #callMs: number;
  #warnings: readonly string[];
  #payload: string | HeldBytes | SpilledFile;
  #decoded: ResultReading | undefined;

  /**
   * @param payload JSON text of `result`, or a frame in UTF-8 in which `start`…`end` (bytes; default all) of `extra` is
   * that text; nothing where `extra` names a file with it.
   */
  constructor(
    call: Pick<PendingCall, 'server' | 'tool' | 'attempts' | 'startedAt' | 'postedAt'>,
    payload: string | ArrayBuffer,
    isError: boolean,
    extra: LaneExtra | null,
    callMs: number,
  ) {
    this.isError = isError;
    this.attempts = call.attempts;
    this.server = call.server;
    this.tool = call.tool;
    this.#queueMs = call.postedAt - call.startedAt;
    this.#callMs = callMs;
    this.#warnings = extra?.warnings ?? NO_WARNINGS;
    if (typeof payload === 'string') {
      this.#payload = extra?.spill === undefined ? payload : new SpilledFile(extra.spill);
    } else {
      const { start = 0, end = payload.byteLength } = extra ?? {};
      this.#payload = new HeldBytes(new Uint8Array(payload, start, end - start));
    }
  }

  get timing(): Timing {
    return { queueMs: this.#queueMs, callMs: this.#callMs };
  }

  get outcome(): 'ok' | 'tool_error' {
    return this.isError ? 'tool_error' : 'ok';
  }

  get raw(): string {
    if (typeof this.#payload === 'string') return this.#payload;
    const text = this.#payload.text();
    // Kept as text from here on, so that the frame can be collected. What is in a file was too long to be kept.
    if (this.#payload instanceof HeldBytes) this.#payload = text;
    return text;
  }

  async rawBytes(): Promise<Uint8Array> {
    return typeof this.#payload === 'string' ? Buffer.from(this.#payload) : await this.#payload.read();
  }

  get spilled(): SpillFacts | undefined {
    return this.#payload instanceof SpilledFile ? this.#payload : undefined;
  }

  /** For the pool, which reads it in its own thread; nothing is decoded or copied here. */
  async lend(): Promise<Lent> {
    if (typeof this.#payload !== 'string') return this.#payload.lend();
    const source = { kind: 'json', json: this.#payload } as const;
    return { source, transfer: [], whenHere: (run) => run(), end: () => {} };
  }

  get content(): readonly ContentBlock[] {
    return this.#decode().content;
  }

  get structuredContent(): Record<string, unknown> | undefined {
    return this.#decode().structuredContent;
  }

  /** What was found when the result was checked; decoding may add to it. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  text(): string {
    const { raw } = this;
    return resultText(raw, this.#decode(raw));
  }

  #decode(raw?: string): ResultReading {
    if (this.#decoded === undefined) {
      this.#decoded = readResult(raw ?? this.raw);
      const found = this.#decoded.problems.map((problem) => `${this.server}.${this.tool}: ${problem}`);
      if (found.length > 0) this.#warnings = [...this.#warnings, ...found];
    }
    return this.#decoded;
  }
}
