/**
 * What the results file of an earlier run holds: which input lines have theirs, and how many of those are not `ok`.
 * A last line that was torn when the run was killed is cut off, so that the next one begins on a line of its own.
 */
import { createReadStream } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { BulkheadError, memberSpans, type Outcome, outcomes } from '@bulkhead/workers';
import { LineSet } from './line-set.js';

export interface EarlierResults {
  lines: LineSet;
  /** Lines whose outcome is not `ok`. */
  failed: number;
}

/** What an output line says about itself. */
export interface ResultHead {
  line: number;
  server: string | undefined;
  outcome: Outcome;
}

const NEWLINE = 0x0a;
/** Enough of nearly every line to see its head. */
const GLANCE_BYTES = 512;
/** A line echoes the `id` of an input line, which is not longer; the result behind it is not needed. */
const KEPT_BYTES = 64 * 1024 * 1024;
const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const HEAD = new RegExp(
  String.raw`^\{"id":(?:null|-?\d+|${TEXT}),"line":(\d+),"server":(null|${TEXT}),"tool":(?:null|${TEXT}),"outcome":"(\w+)"`,
);

/**
 * Reads and repairs the file.
 * @throws {BulkheadError} `BAD_INPUT` when a whole line of it is no output line of a batch: the file is something else.
 */
export async function readEarlierResults(path: string): Promise<EarlierResults> {
  const lines = new LineSet();
  let failed = 0;
  let count = 0;
  let whole = 0;
  let read = 0;
  let parts: Buffer[] = [];
  let held = 0;
  const finish = (last: Buffer): void => {
    count++;
    const text = parts.length === 0 ? last : Buffer.concat([...parts, last]);
    parts = [];
    held = 0;
    const head = resultHead(text);
    if (head === undefined) {
      throw new BulkheadError(
        'BAD_INPUT',
        `line ${count} of "${path}" is no result of a batch; name the results file of the run to resume, or a new file`,
      );
    }
    if (lines.add(head.line) && head.outcome !== 'ok') failed++;
  };
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    const bytes = chunk as Buffer;
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
      finish(bytes.subarray(from, end));
      from = end + 1;
      whole = read + from;
    }
    if (from < bytes.length && held < KEPT_BYTES) {
      parts.push(Buffer.from(bytes.subarray(from)));
      held += bytes.length - from;
    }
    read += bytes.length;
  }
  if (whole < read) await truncate(path, whole);
  return { lines, failed };
}

/** Undefined when the line does not begin like an output line. */
export function resultHead(line: Buffer | string): ResultHead | undefined {
  const found = HEAD.exec(
    typeof line === 'string' ? line.slice(0, GLANCE_BYTES) : line.subarray(0, GLANCE_BYTES).toString('utf8'),
  );
  if (found !== null) {
    const [, number, server = 'null', word] = found;
    const outcome = outcomes.find((one) => one === word);
    return outcome === undefined ? undefined : { line: Number(number), server: nameOf(server), outcome };
  }
  return readWhole(line.toString());
}

/** An unusual `id`, or long names. */
function readWhole(text: string): ResultHead | undefined {
  try {
    const spans = memberSpans(text);
    const value = (name: string): unknown => {
      const span = spans.get(name);
      return span === undefined ? undefined : JSON.parse(text.slice(span.start, span.end));
    };
    const [line, server, word] = [value('line'), value('server'), value('outcome')];
    const outcome = outcomes.find((one) => one === word);
    if (typeof line !== 'number' || outcome === undefined) return undefined;
    return { line, server: typeof server === 'string' ? server : undefined, outcome };
  } catch {
    return undefined;
  }
}

/** Lines of one server follow each other. */
let lastName = { json: 'null', name: undefined as string | undefined };

function nameOf(json: string): string | undefined {
  if (lastName.json !== json) lastName = { json, name: JSON.parse(json) as string };
  return lastName.name;
}
