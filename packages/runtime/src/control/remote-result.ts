/** The answer of a tool as it came over a control socket: the same face as a result of one's own runtime. */
import { BulkheadError } from '@bulkhead/workers/errors';
import { memberSpans } from '@bulkhead/workers/json-span';
import { type ResultReading, readResult, resultText } from '@bulkhead/workers/result-text';
import type { ContentBlock, Timing, ToolResult } from '../api.js';
import type { CallAnswer } from './protocol.js';

const RESULT = ',"result":';

/** The result of a call that another process made; decoded on first use, like every result. */
export class RemoteToolResult implements ToolResult {
  readonly raw: string;
  readonly outcome: 'ok' | 'tool_error';
  readonly timing: Timing;
  readonly attempts: number;
  /** Why the arguments could not be checked, when that was asked for. */
  readonly unchecked: string | undefined;
  readonly #place: string;
  #warnings: readonly string[];
  #decoded: ResultReading | undefined;

  /** @param text a `CallAnswer` with `result` behind it. @throws {BulkheadError} `OUTCOME_UNKNOWN` for something else. */
  constructor(text: string, { server, tool }: { server: string; tool: string }) {
    const { head, raw } = parted(text, server, tool);
    this.raw = raw;
    this.outcome = head.outcome;
    this.timing = head.timing;
    this.attempts = head.attempts;
    this.unchecked = head.unchecked;
    this.#warnings = head.warnings;
    this.#place = `${server}.${tool}`;
  }

  /** The tool reported an error. */
  get isError(): boolean {
    return this.outcome === 'tool_error';
  }

  /** Decoded on first use. */
  get content(): readonly ContentBlock[] {
    return this.#decode().content;
  }

  /** Decoded on first use; undefined when there is none. */
  get structuredContent(): Record<string, unknown> | undefined {
    return this.#decode().structuredContent;
  }

  /** What is wrong with the result although it can be used. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  text(): string {
    return resultText(this.raw, this.#decode());
  }

  async rawBytes(): Promise<Uint8Array> {
    return Buffer.from(this.raw);
  }

  #decode(): ResultReading {
    if (this.#decoded === undefined) {
      this.#decoded = readResult(this.raw);
      const found = this.#decoded.problems.map((problem) => `${this.#place}: ${problem}`);
      if (found.length > 0) this.#warnings = [...this.#warnings, ...found];
    }
    return this.#decoded;
  }
}

function parted(text: string, server: string, tool: string): { head: CallAnswer; raw: string } {
  try {
    const span = memberSpans(text).get('result');
    if (span === undefined) throw new SyntaxError('it holds no result');
    const head = JSON.parse(`${text.slice(0, span.start - RESULT.length)}}`) as CallAnswer;
    return { head, raw: text.slice(span.start, span.end) };
  } catch (cause) {
    const message = `${server}.${tool}: the resident's answer cannot be read; the call may have done its work`;
    throw new BulkheadError('OUTCOME_UNKNOWN', message, { server, tool, cause });
  }
}
