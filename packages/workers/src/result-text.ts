/**
 * A tool's result, from its exact JSON text to what hosts look at: blocks, structured content and one canonical text. The
 * same on the agent's thread and in the pool. Pure.
 */
import { blockText, type ContentBlock, contentBlocks, isRecord, saysNothing, wellFormed } from './content.js';
import { memberSpans } from './json-span.js';

export interface ResultReading {
  content: readonly ContentBlock[];
  structuredContent: Record<string, unknown> | undefined;
  /** What was not as it should be, as parts of a sentence; never a reason to lose the rest. */
  problems: readonly string[];
}

/** Never throws: what is no JSON is a result without content, and a problem. */
export function readResult(raw: string): ResultReading {
  const problems: string[] = [];
  const value = parsed(raw, problems);
  if (!isRecord(value)) return { content: [], structuredContent: undefined, problems };
  const { content, structuredContent } = value;
  if (content !== undefined && content !== null && !Array.isArray(content)) {
    problems.push('its content is not a list; it was taken as one block');
  }
  const structured = structuredContent ?? undefined;
  if (structured !== undefined && !isRecord(structured)) {
    problems.push('its structuredContent is not an object and was left out; it stands in the raw result');
  }
  return {
    content: contentBlocks(content),
    structuredContent: isRecord(structured) ? structured : undefined,
    problems,
  };
}

/** All text blocks in order, joined by a newline; the structured content as it was sent when they say nothing. */
export function resultText(raw: string, { content, structuredContent }: ResultReading): string {
  if (structuredContent !== undefined && saysNothing(content)) {
    // The source text, not a new rendering: integers above 2^53 keep their digits.
    const span = memberSpans(raw).get('structuredContent');
    if (span !== undefined) return raw.slice(span.start, span.end);
  }
  return content.map(blockText).join('\n');
}

function parsed(raw: string, problems: string[]): unknown {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch (error) {
    problems.push(`its result is not JSON (${(error as SyntaxError).message})`);
    return undefined;
  }
  if (!isRecord(value)) problems.push('its result is not an object');
  return mayHoldHalfPairs(raw) ? wellFormed(value) : value;
}

/** Only an escape can bring half a surrogate pair into decoded text; most results hold none and are not walked. */
function mayHoldHalfPairs(raw: string): boolean {
  return /\\u[dD][89a-fA-F]/.test(raw) || !raw.isWellFormed();
}
