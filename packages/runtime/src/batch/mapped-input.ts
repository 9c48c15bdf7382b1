/** A file of data as the lines of a batch: each record of CSV or JSON Lines becomes one call of one tool. */
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { BulkheadError, memberSpans } from '@bulkhead/workers';
import { type InputLine, LineSplitter } from './lines.js';
import { batchDefaults } from './options.js';
import { singleLine } from './record.js';
import { ArgumentTemplate, type Columns } from './template.js';

/** Formats of records that can become calls. */
export type MapFormat = 'csv' | 'tsv' | 'jsonl';

/** Records, and what call each of them becomes. */
export interface MapOptions {
  input: Readable;
  /** Default: told by the first byte, `{` begins JSON Lines. {@link formatOf} tells it by the name of a file. */
  format?: MapFormat | undefined;
  /** JSON object; see docs/batch.md. */
  template: string;
  /** Undefined when `tool` is a full name. */
  server: string | undefined;
  tool: string;
}

const OPEN_BRACE = 0x7b;
/** Blanks and a byte order mark. */
const BEFORE_FIRST = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
/** Records handed on at a time. */
const RECORDS = 64;

/** By the end of a file's name; undefined: look at its first byte. */
export function formatOf(path: string): MapFormat | undefined {
  switch (extname(path).toLowerCase()) {
    case '.csv':
      return 'csv';
    case '.tsv':
      return 'tsv';
    case '.jsonl':
    case '.ndjson':
      return 'jsonl';
    default:
      return undefined;
  }
}

/**
 * Lines for `runBatch()`. The number of a line is that of its record: of the line in JSON Lines, of the row in CSV, where
 * the row of names is not counted. A column `id` becomes the line's `id`.
 * @throws {BulkheadError} `BAD_INPUT` for a template that is not a JSON object.
 */
export function mapInput(options: MapOptions): AsyncIterable<InputLine[]> & {
  /** Ends the input when the lines are not wanted any more. */
  destroy: () => void;
} {
  const mapping = new Mapping(options);
  const { input } = options;
  return {
    [Symbol.asyncIterator]: () => mapping.lines(),
    destroy: () => void input.destroy(),
  };
}

class Mapping {
  readonly #options: MapOptions;
  readonly #template: ArgumentTemplate;
  readonly #target: string;

  constructor(options: MapOptions) {
    this.#options = options;
    this.#template = new ArgumentTemplate(options.template);
    const { server, tool } = options;
    const place = server === undefined ? '' : `"server":${JSON.stringify(server)},`;
    this.#target = `${place}"tool":${JSON.stringify(tool)}`;
  }

  async *lines(): AsyncGenerator<InputLine[]> {
    const { input, format } = this.#options;
    const chunks = input[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer>;
    const first = await chunks.next();
    if (first.done === true) return;
    const rest = joined(first.value, chunks);
    switch (format ?? sniff(first.value)) {
      case 'jsonl':
        yield* this.#jsonLines(rest);
        break;
      case 'csv':
        yield* this.#rows(rest, ',');
        break;
      case 'tsv':
        yield* this.#rows(rest, '\t');
        break;
    }
  }

  async *#jsonLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<InputLine[]> {
    const splitter = new LineSplitter(batchDefaults.maxLineBytes);
    for await (const chunk of chunks) yield splitter.push(chunk).map((line) => this.#jsonLine(line));
    yield splitter.end().map((line) => this.#jsonLine(line));
  }

  #jsonLine(line: InputLine): InputLine {
    const { text } = line;
    if (text === undefined) return line;
    try {
      JSON.parse(text);
      const columns = new Map(
        [...memberSpans(text)].map(([name, { start, end }]) => [name, singleLine(text.slice(start, end))]),
      );
      return this.#filled(line, columns);
    } catch (error) {
      return { ...line, text: undefined, problem: `not a JSON object: ${(error as Error).message}` };
    }
  }

  async *#rows(chunks: AsyncIterable<Buffer>, delimiter: string): AsyncGenerator<InputLine[]> {
    const { parse } = await import('csv-parse');
    const parser = parse({
      delimiter,
      bom: true,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: batchDefaults.maxLineBytes,
    });
    const source = Readable.from(chunks, { objectMode: false });
    source.once('error', (error) => parser.destroy(error));
    source.pipe(parser);
    let names: string[] | undefined;
    let bytes = 0;
    let line = 0;
    let lines: InputLine[] = [];
    for await (const row of parser as AsyncIterable<{ record: string[]; info: { bytes: number } }>) {
      const { record, info } = row;
      if (names === undefined) {
        names = record.map((name) => name.trim());
        this.#requireColumns(names);
      } else {
        lines.push(this.#row({ line: ++line, text: undefined, bytes: info.bytes - bytes }, names, record));
      }
      bytes = info.bytes;
      if (lines.length < RECORDS) continue;
      yield lines;
      lines = [];
    }
    yield lines;
  }

  #row(line: InputLine, names: readonly string[], record: readonly string[]): InputLine {
    if (record.length !== names.length) {
      return { ...line, problem: `the row has ${record.length} fields, the row of names ${names.length}` };
    }
    return this.#filled(line, new Map(names.map((name, index) => [name, JSON.stringify(record[index])])));
  }

  /** A missing column would be missing in every row: one error in place of a million. */
  #requireColumns(names: readonly string[]): void {
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new BulkheadError('BAD_INPUT', `the column "${twice}" is there twice`);
    this.#template.fill(new Map(names.map((name) => [name, '0'])));
  }

  #filled(line: InputLine, columns: Columns): InputLine {
    try {
      const id = columns.get('id') ?? 'null';
      const text = `{"id":${id},${this.#target},"arguments":${this.#template.fill(columns)}}`;
      return { ...line, text };
    } catch (error) {
      return { ...line, text: undefined, problem: (error as Error).message };
    }
  }
}

async function* joined(first: Buffer, rest: AsyncIterableIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

function sniff(chunk: Buffer): MapFormat {
  const first = chunk.find((byte) => !BEFORE_FIRST.has(byte));
  return first === OPEN_BRACE ? 'jsonl' : 'csv';
}
