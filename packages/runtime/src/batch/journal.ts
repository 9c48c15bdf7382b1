/**
 * What makes a batch resumable: beside the results lies a journal of the lines whose calls were started, each written
 * before its call is sent. A started line without a result is one whose fate nobody knows.
 *
 *     results.jsonl           results.jsonl.journal
 *     {"id":1,"line":1,…}     {"batchJournal":1,"hash":…,"pid":…}
 *     {"id":2,"line":2,…}     1
 *     (killed)                2
 *                             3          started, no result: line 3 may have run
 */
import { closeSync, createWriteStream, openSync, writeSync } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { BulkheadError } from '@bulkhead/workers';
import { type EarlierResults, type ResultHead, readEarlierResults } from './earlier-results.js';
import { type EarlierStarts, headerOf, readJournal, requireSame, writeJournal } from './journal-file.js';
import { LineSet } from './line-set.js';
import { type SpilledLine, writeSpilled } from './spilled-line.js';

/** Which batch the journal belongs to; a resumed run must name the same. */
export interface JournalOptions {
  /** Path of the input file. */
  input: string;
  /** Path of the results file; the journal is `<output>.journal`. */
  output: string;
  /** As for the batch: lines that have their result, but wait for an earlier one, are kept in the journal. */
  ordered?: boolean;
  /** Anything else that decides what a line means, a template for instance; a resumed run must have the same. */
  variant?: string;
}

/** What is known of an input line before it is looked at. */
export type Fate =
  | { is: 'new' }
  | { is: 'done' }
  /** Started by an earlier run, without a result. */
  | { is: 'unknown' }
  /** Has its result, which waits for its turn. */
  | { is: 'kept'; text: string; head: ResultHead };

/** What a batch asks before it sends a call, and tells once it may have run. */
export interface CallJournal {
  /** Named in errors: a file, or wherever else it is kept. */
  readonly path: string;
  /** What is known of a line from before. */
  fate(line: number): Fate;
  /**
   * Notes that the call of a line is about to be sent, for each try anew. Resolves once that is lasting: then it is sent.
   * A rejection means that it is not sent: with a {@link BulkheadError} the line ends so; with {@link GivenBack} nothing is
   * written for it, unless an earlier try of it has an end, and the batch stops as on an interrupt; with anything else it
   * stops because the journal is broken.
   */
  start(line: number): Promise<void>;
  /**
   * The call of a line was not sent, nor any try of it before, because its server cannot be used here. True: as with
   * {@link GivenBack}. False, and by default, the line ends with the error.
   */
  unsent?(line: number, error: BulkheadError): boolean;
  /** No further try of the line is made; its output line is not written yet. */
  ended?(line: number): void;
  /** Takes finished lines that wait for an earlier one when an ordered batch stops. Default: they are written at once. */
  keep?(lines: readonly (string | SpilledLine)[]): Promise<void>;
}

/** Rejection of {@link CallJournal.start}: this line is somebody else's to send now, or nobody's. */
export class GivenBack extends Error {
  override readonly name = 'GivenBack';
}

const NEW = { is: 'new' } as const;
const DONE = { is: 'done' } as const;
const UNKNOWN = { is: 'unknown' } as const;

/**
 * Makes the journal of a results file, or takes up the one that a killed run left, and cuts a torn last line off the
 * results. Append the new ones to the file: `createWriteStream(output, { flags: 'a' })`.
 * @throws {BulkheadError} `BAD_INPUT` when journal or results belong to something else, or a running process writes them.
 */
export async function openJournal(options: JournalOptions): Promise<BatchJournal> {
  const { output } = options;
  const path = `${output}.journal`;
  const header = await headerOf(options);
  const info = await stat(output).catch(() => undefined);
  if (info !== undefined && !info.isFile()) {
    throw new BulkheadError('BAD_INPUT', `"${output}" is no file, and only a file can be resumed`);
  }
  const starts = await readJournal(path);
  if (starts !== undefined) requireSame(path, starts.header, header);
  if (starts !== undefined && info === undefined) {
    throw new BulkheadError(
      'BAD_INPUT',
      `"${path}" is there, but not its results "${output}"; bring them back, or remove the journal to run every line anew`,
    );
  }
  await (await open(output, 'a')).close();
  const results = await readEarlierResults(output);
  if (starts === undefined && results.lines.size > 0) return new BatchJournal(path, results, undefined);
  const known: EarlierStarts = starts ?? { header, started: new LineSet(), kept: new Map() };
  await writeJournal(path, header, known, results.lines);
  return new BatchJournal(path, results, known);
}

/** The journal of one run; pass it as `journal` to `runBatch()` and close it afterwards. */
export class BatchJournal implements CallJournal {
  readonly path: string;
  readonly #results: EarlierResults;
  /** Undefined: the results were finished, or written without a journal. */
  readonly #starts: EarlierStarts | undefined;
  #fd: number | undefined;
  #pending = '';
  /** Calls that start in one turn share one write. */
  #noting: Promise<void> | undefined;

  /** @internal see {@link openJournal} */
  constructor(path: string, results: EarlierResults, starts: EarlierStarts | undefined) {
    this.path = path;
    this.#results = results;
    this.#starts = starts;
    if (starts !== undefined) this.#fd = openSync(path, 'a', 0o600);
  }

  /** Lines that had their result before this run, and how many of those are not `ok`. */
  get earlier(): { done: number; failed: number } {
    return { done: this.#results.lines.size, failed: this.#results.failed };
  }

  /**
   * @throws {BulkheadError} `BAD_INPUT` when the line has no result and there is no journal that would tell whether it
   * was started.
   */
  fate(line: number): Fate {
    if (this.#results.lines.has(line)) return DONE;
    if (this.#starts === undefined) {
      throw new BulkheadError(
        'BAD_INPUT',
        `line ${line} has no result yet, and without "${this.path}" it is not known whether its call was sent: ` +
          'these results are of another input, or of a run without --resume. Write to another file to run every line',
      );
    }
    const kept = this.#starts.kept.get(line);
    if (kept !== undefined) {
      this.#starts.kept.delete(line);
      return { is: 'kept', ...kept };
    }
    return this.#starts.started.has(line) ? UNKNOWN : NEW;
  }

  /** Notes that the call of a line is about to be sent. */
  start(line: number): Promise<void> {
    if (this.#starts?.started.add(line) === true) this.#pending += `${line}\n`;
    this.#noting ??= Promise.resolve().then(() => {
      this.#noting = undefined;
      this.flush();
    });
    return this.#noting;
  }

  /** @throws when the journal cannot be written; the calls noted since the last flush must not be sent. */
  flush(): void {
    const text = this.#pending;
    this.#pending = '';
    if (text !== '' && this.#fd !== undefined) writeFully(this.#fd, Buffer.from(text, 'latin1'));
  }

  /** Keeps finished lines for the next run, which writes them when their turn has come. */
  async keep(lines: readonly (string | SpilledLine)[]): Promise<void> {
    if (lines.length === 0) return;
    const stream = createWriteStream(this.path, { flags: 'a' });
    const done = finished(stream);
    const never = new AbortController().signal;
    for (const line of lines) {
      if (typeof line === 'string') stream.write(`${line}\n`);
      else await writeSpilled(line, stream, never);
    }
    stream.end();
    await done;
  }

  /**
   * Ends the journal.
   * @param isComplete every line has its result: the journal has done its service and is removed.
   */
  async close(isComplete: boolean): Promise<void> {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
    if (isComplete) await rm(this.path, { force: true });
  }
}

/** A write may take a part only, on a disk that is nearly full for instance. */
function writeFully(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}
