/**
 * The way of every tool's answer to a model, in one place: parts for the model's provider, then the budget, once. Large
 * text of MCP servers is cut in the pool, so that the agent's thread never holds more of it than the budget.
 */
import type { RuntimeApi, ToolResult } from '../api.js';
import { type BudgetOptions, OutputBudget, withinBudget } from './budget.js';
import { OutputFiles } from './output-files.js';
import { resultParts } from './parts.js';
import type { MediaRules, ModelResult } from './providers/profile.js';
import type { ToolOutput } from './tool.js';

/** Answers from this size on are shaped in the pool: below it the way there costs more than the work. */
const POOL_BYTES = 64 * 1024;
/** Answers up to this size are searched for media, which the pool cannot show. */
const MEDIA_BYTES = 16 * 1024 * 1024;
const MEDIA_MARKS = ['"image"', '"audio"', '"blob"'];
/** No text has more; where it has less, the rest of the cut is made here. */
const BYTES_PER_TOKEN = 4;

/** The limits of a {@link ResultShaper}, and where it puts what has no room. */
export interface ShaperOptions {
  /** What the model's provider takes: `profile.media`. */
  media: MediaRules;
  budget?: BudgetOptions;
  /** For whole texts, large media and unknown contents. Default: a fresh private directory. */
  directory?: string;
  /** Cuts large text off the agent's thread; without it everything is done in place. */
  runtime?: Pick<RuntimeApi, 'shape'>;
}

export interface ShapedOutput extends ModelResult {
  /** Set when text was cut: the file with the whole. */
  readonly file?: string;
}

/** Makes of a tool's answer what a model gets to read: inside the budget, with media that its provider takes. */
export class ResultShaper {
  readonly budget: OutputBudget;
  readonly #options: ShaperOptions;
  readonly #files: OutputFiles;

  /** @throws {BulkheadError} `BAD_INPUT` for a budget out of range. */
  constructor(options: ShaperOptions) {
    this.#options = options;
    this.budget = new OutputBudget(options.budget);
    this.#files = new OutputFiles(options.directory);
  }

  /**
   * The answer as a model gets it.
   * @throws {BulkheadError} `CANCELLED` when the signal aborts meanwhile; other errors when a file cannot be written.
   */
  async finish(
    output: ToolOutput,
    call: { callId: string; name: string; signal?: AbortSignal },
  ): Promise<ShapedOutput> {
    const { callId, name, signal } = call;
    const maxTokens = this.budget.tokensFor(name);
    const { parts, file } = await this.#parts(output, maxTokens, signal);
    return { callId, name, isError: output.isError, parts, ...(file !== undefined && { file }) };
  }

  async #parts(output: ToolOutput, maxTokens: number, signal: AbortSignal | undefined) {
    const { runtime, media } = this.#options;
    const files = this.#files;
    const { result } = output;
    if (runtime === undefined || result === undefined || !(await isLongText(result))) {
      return withinBudget(await resultParts(output, { media, files }), maxTokens, files);
    }
    const shaped = await runtime.shape(result, {
      maxBytes: Math.max(1_000, maxTokens * BYTES_PER_TOKEN),
      directory: await files.directory(),
      ...(signal && { signal }),
    });
    const whole = shaped.file === undefined ? undefined : { bytes: shaped.bytes, file: shaped.file };
    return withinBudget([{ type: 'text', text: shaped.text }], maxTokens, files, whole);
  }
}

/** Whether an answer is worth the way to the pool, and holds nothing that only the way through its blocks can show. */
async function isLongText(result: ToolResult): Promise<boolean> {
  if (result.spilled !== undefined) return true;
  const { buffer, byteOffset, byteLength } = await result.rawBytes();
  if (byteLength < POOL_BYTES) return false;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return byteLength > MEDIA_BYTES || !MEDIA_MARKS.some((mark) => bytes.includes(mark));
}
