/**
 * The answer of a tool as it came over the lane: exact JSON text or bytes, decoded only when somebody looks. A result
 * that is passed on as `raw` is never parsed on the agent's thread.
 */
import { type LaneExtra, memberSpans } from '@bulkhead/workers';
import type { ContentBlock, Timing, ToolResult } from './api.js';
import type { PendingCall } from './call.js';
import { blockText, contentBlocks, isBlank, isRecord, wellFormed } from './content.js';

const NO_WARNINGS: readonly string[] = [];

interface Decoded {
  content: readonly ContentBlock[];
  structuredContent: Record<string, unknown> | undefined;
}

export class LaneToolResult implements ToolResult {
  readonly isError: boolean;
  readonly attempts: number;
  readonly server: string;
  readonly tool: string;
  readonly #queueMs: number;
  readonly #callMs: number;
  #warnings: readonly string[];
  #payload: string | Uint8Array;
  #decoded: Decoded | undefined;

  /**
   * @param payload JSON text of `result`, or a frame in UTF-8 in which `start`…`end` (bytes; default all) of `extra` is
   * that text.
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
      this.#payload = payload;
    } else {
      const { start = 0, end = payload.byteLength } = extra ?? {};
      this.#payload = new Uint8Array(payload, start, end - start);
    }
  }

  get timing(): Timing {
    return { queueMs: this.#queueMs, callMs: this.#callMs };
  }

  get outcome(): 'ok' | 'tool_error' {
    return this.isError ? 'tool_error' : 'ok';
  }

  get raw(): string {
    if (typeof this.#payload !== 'string') {
      const { buffer, byteOffset, byteLength } = this.#payload;
      // Kept as text from here on, so that the frame can be collected.
      this.#payload = Buffer.from(buffer, byteOffset, byteLength).toString();
    }
    return this.#payload;
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
    const { content, structuredContent } = this.#decode();
    if (structuredContent !== undefined && isBlank(content)) {
      // The source text, not a new rendering: integers above 2^53 keep their digits.
      const span = memberSpans(this.raw).get('structuredContent');
      if (span !== undefined) return this.raw.slice(span.start, span.end);
    }
    return content.map(blockText).join('\n');
  }

  #decode(): Decoded {
    this.#decoded ??= this.#read();
    return this.#decoded;
  }

  #read(): Decoded {
    const value = this.#parse();
    if (!isRecord(value)) return { content: [], structuredContent: undefined };
    const { content, structuredContent } = value;
    if (content !== undefined && content !== null && !Array.isArray(content)) {
      this.#warn('its content is not a list; it was taken as one block');
    }
    const structured = structuredContent ?? undefined;
    if (structured !== undefined && !isRecord(structured)) {
      this.#warn('its structuredContent is not an object and was left out; it stands in the raw result');
    }
    return {
      content: contentBlocks(content),
      structuredContent: isRecord(structured) ? structured : undefined,
    };
  }

  #parse(): unknown {
    const { raw } = this;
    let value: unknown;
    try {
      value = JSON.parse(raw);
    } catch (error) {
      this.#warn(`its result is not JSON (${(error as SyntaxError).message})`);
      return undefined;
    }
    if (!isRecord(value)) this.#warn('its result is not an object');
    return mayHoldHalfPairs(raw) ? wellFormed(value) : value;
  }

  #warn(what: string): void {
    this.#warnings = [...this.#warnings, `${this.server}.${this.tool}: ${what}`];
  }
}

/** Only an escape can bring half a surrogate pair into decoded text; most results hold none and are not walked. */
function mayHoldHalfPairs(raw: string): boolean {
  return /\\u[dD][89a-fA-F]/.test(raw) || !raw.isWellFormed();
}
