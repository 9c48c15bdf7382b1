/**
 * The one budget that an answer meets on its way to a model: so many tokens of text, the head and the tail of what is
 * longer, and between them a line that names the sizes and the file with the whole text. Applied once, at the end.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { OutputFiles } from './output-files.js';
import { endWithin, estimateTokens, LEAST_TOKENS_PER_CHAR, startWithin } from './tokens.js';
import type { ResultPart } from './tool.js';

/** The limits where no option and no variable says otherwise. */
export const budgetDefaults = {
  /** Tokens of text in one answer. Env: `MAX_MCP_OUTPUT_TOKENS`. */
  maxTokens: 25_000,
} as const;

/** Less would leave no room beside the line about what is missing. */
const MIN_TOKENS = 200;
/** For that line. */
const MARKER_TOKENS = 100;
/** Of the rest; the tail gets what is left, because errors and totals stand at the end. */
const HEAD_SHARE = 0.7;
/** A cut moves to the end of a line that is at most this many characters away. */
const NEAR_CHARS = 200;

/** How much of a tool's answer a model gets to read, in estimated tokens. */
export interface BudgetOptions {
  /** At least 200. Default: `MAX_MCP_OUTPUT_TOKENS`, else 25 000. */
  maxTokens?: number;
  /** By the tool's full name; at least 200 each. */
  perTool?: ReadonlyMap<string, number>;
  /** Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
}

/**
 * The limits as they hold for each tool. @throws {BulkheadError} `BAD_INPUT` from the constructor for a limit below
 * 200.
 */
export class OutputBudget {
  /** What is wrong with `MAX_MCP_OUTPUT_TOKENS`, as a sentence; the default counts then. */
  readonly problem: string | undefined;
  readonly #maxTokens: number;
  readonly #perTool: ReadonlyMap<string, number>;

  /** @throws {BulkheadError} `BAD_INPUT` naming the option, what was expected and what was given. */
  constructor(options: BudgetOptions = {}) {
    this.#perTool = options.perTool ?? new Map();
    for (const [tool, tokens] of this.#perTool) check(tokens, `perTool (${tool})`);
    if (options.maxTokens !== undefined) {
      this.#maxTokens = check(options.maxTokens, 'maxTokens');
      return;
    }
    const text = (options.env ?? process.env).MAX_MCP_OUTPUT_TOKENS?.trim();
    const given = Number(text);
    const usable = text !== undefined && /^\d+$/.test(text) && given >= MIN_TOKENS;
    this.#maxTokens = usable ? given : budgetDefaults.maxTokens;
    if (text !== undefined && text !== '' && !usable) {
      this.problem = `expected MAX_MCP_OUTPUT_TOKENS to be a whole number of at least ${MIN_TOKENS}, got "${text}"; ${budgetDefaults.maxTokens} counts`;
    }
  }

  /** Tokens of text that an answer of this tool may have. */
  tokensFor(tool: string): number {
    return this.#perTool.get(tool) ?? this.#maxTokens;
  }
}

/** A text that was cut before it came here, and what is known of the whole. */
export interface KnownWhole {
  bytes: number;
  file: string;
}

export interface BudgetedParts {
  parts: ResultPart[];
  truncated: boolean;
  /** The whole text; set when something was cut. */
  file?: string;
}

/**
 * The parts within `maxTokens` of text; images and sounds pass, wherever they stand.
 * @param whole When the text is already a cut of a longer one: no second file is written, and its own line about the
 *   cut, which stands in the middle, goes with the middle.
 * @throws When the file cannot be written.
 */
export async function withinBudget(
  parts: readonly ResultPart[],
  maxTokens: number,
  files: OutputFiles,
  whole?: KnownWhole,
): Promise<BudgetedParts> {
  if (!isOver(parts, maxTokens)) {
    return { parts: [...parts], truncated: whole !== undefined, ...(whole && { file: whole.file }) };
  }
  const text = parts.map(wholeText).join('\n');
  const file = whole?.file ?? (await files.saveText(text));
  const bytes = whole?.bytes ?? Buffer.byteLength(text);
  return { parts: cut(parts, maxTokens - MARKER_TOKENS, bytes, file), truncated: true, file };
}

function check(tokens: number, name: string): number {
  if (Number.isInteger(tokens) && tokens >= MIN_TOKENS) return tokens;
  throw new BulkheadError(
    'BAD_INPUT',
    `expected the output budget "${name}" to be a whole number of at least ${MIN_TOKENS}, got ${tokens}`,
  );
}

/** Looks at no more than the budget: a text that is certainly too long is not counted. */
function isOver(parts: readonly ResultPart[], maxTokens: number): boolean {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  if (chars * LEAST_TOKENS_PER_CHAR > maxTokens) return true;
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0) > maxTokens;
}

function wholeText(part: ResultPart): string {
  return part.type === 'text' ? part.text : `[${part.type} of type ${part.mediaType}]`;
}

interface Place {
  part: number;
  offset: number;
}

function cut(parts: readonly ResultPart[], room: number, bytes: number, file: string): ResultPart[] {
  const head = headEnd(parts, room * HEAD_SHARE);
  const tail = tailStart(parts, room * (1 - HEAD_SHARE));
  const kept: ResultPart[] = [];
  const push = (part: ResultPart) => {
    const last = kept.at(-1);
    if (part.type !== 'text' || last?.type !== 'text') kept.push(part);
    else kept[kept.length - 1] = { type: 'text', text: last.text + part.text };
  };
  let shownBytes = 0;
  const pieces: { before?: string; after?: string; media?: ResultPart }[] = parts.map((part, index) => {
    if (part.type !== 'text') return { media: part };
    const before = index < head.part ? part.text : index === head.part ? part.text.slice(0, head.offset) : '';
    const after = index > tail.part ? part.text : index === tail.part ? part.text.slice(tail.offset) : '';
    shownBytes += Buffer.byteLength(before) + Buffer.byteLength(after);
    return { before, after };
  });
  const marker: ResultPart = { type: 'text', text: `\n${note(bytes - shownBytes, bytes, file)}\n` };
  for (const [index, { before, after, media }] of pieces.entries()) {
    if (media !== undefined) push(media);
    if (before !== undefined && before !== '') push({ type: 'text', text: before });
    if (index === head.part) push(marker);
    if (after !== undefined && after !== '') push({ type: 'text', text: after });
  }
  return kept;
}

function note(left: number, bytes: number, file: string): string {
  return `[… ${left} of ${bytes} bytes left out to keep this answer short; the whole text is in ${file} …]`;
}

function headEnd(parts: readonly ResultPart[], tokens: number): Place {
  let room = tokens;
  let place: Place = { part: 0, offset: 0 };
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'text') continue;
    const end = startWithin(part.text, room);
    place = { part: index, offset: end };
    if (end < part.text.length) {
      const line = part.text.lastIndexOf('\n', end - 1);
      return { part: index, offset: line !== -1 && end - line <= NEAR_CHARS ? line : end };
    }
    room -= estimateTokens(part.text);
  }
  return place;
}

function tailStart(parts: readonly ResultPart[], tokens: number): Place {
  let room = tokens;
  let place: Place = { part: parts.length, offset: 0 };
  for (let index = parts.length - 1; index >= 0; index--) {
    const part = parts[index];
    if (part?.type !== 'text') continue;
    const start = endWithin(part.text, room);
    place = { part: index, offset: start };
    if (start > 0) {
      const line = part.text.indexOf('\n', start);
      return { part: index, offset: line !== -1 && line - start <= NEAR_CHARS ? line + 1 : start };
    }
    room -= estimateTokens(part.text);
  }
  return place;
}
