/**
 * Results on PostgreSQL: rows that hold many lines each, and long lines apart from them in pieces. A row has a line of text
 * per result, marked with `=`, or with `@` when it is only the reference of a long one.
 */
import { randomBytes } from 'node:crypto';
import { BulkheadError } from '@bulkhead/workers';
import { clusterDefaults } from './defaults.js';
import type { LineResult, ResultPage, Standing } from './ledger.js';
import type { PostgresConnection } from './postgres-connection.js';
import { cutText, masksOf } from './postgres-lines.js';

/** Rows that one page looks at. */
const PAGE_ROWS = 512;

interface Holder {
  id: string;
  chunk: string;
  owner: string;
}

interface Written extends LineResult {
  bytes: number;
  /** Empty for a line that is not kept apart. */
  blob: string;
}

/** Cut into rows; a row is written in one step. */
export async function putResults(
  connection: PostgresConnection,
  holder: Holder,
  results: readonly LineResult[],
): Promise<{ standing: Standing; unreadBytes: number }> {
  // Of two results of one line the first is the one that counts.
  const first = new Map<number, LineResult>();
  for (const result of results) if (!first.has(result.line)) first.set(result.line, result);
  let row: Written[] = [];
  let size = 0;
  for (const result of first.values()) {
    const written = await storeLong(connection, holder.id, result);
    if (written === undefined) return { standing: 'cancelled', unreadBytes: 0 };
    const { resultLines, resultBytes } = clusterDefaults;
    if (row.length === resultLines || (row.length > 0 && size + written.text.length > resultBytes)) {
      await putRow(connection, holder, row);
      row = [];
      size = 0;
    }
    row.push(written);
    size += written.text.length;
  }
  return putRow(connection, holder, row);
}

export async function readResults(
  connection: PostgresConnection,
  id: string,
  cursor: string | undefined,
  maxBytes: number,
): Promise<ResultPage> {
  const rows = await connection.rows<{ seq: number; body: string }>(
    `SELECT seq, body FROM (
       SELECT seq, body, sum(length) OVER (ORDER BY seq) AS total, row_number() OVER (ORDER BY seq) AS n
       FROM (SELECT seq, body, octet_length(body) AS length FROM :schema.result
             WHERE batch = $1 AND seq > $2 ORDER BY seq LIMIT ${PAGE_ROWS}) next) page
     WHERE n = 1 OR total <= $3 ORDER BY seq`,
    [id, Number(cursor ?? 0), maxBytes],
  );
  return {
    cursor: String(rows.at(-1)?.seq ?? cursor ?? 0),
    lines: rows.flatMap(({ body }) => body.split('\n').map(readLine)),
  };
}

export async function* readBlob(
  connection: PostgresConnection,
  id: string,
  reference: string,
): AsyncGenerator<Buffer> {
  for (let piece = 0; ; piece += 1) {
    const [row] = await connection.rows<{ data: Buffer }>(
      'SELECT data FROM :schema.blob WHERE batch = $1 AND reference = $2 AND piece = $3',
      [id, reference, piece],
    );
    if (row) yield row.data;
    else if (piece > 0) return;
    else {
      const line = reference.split('-')[0];
      throw new BulkheadError(
        'BAD_INPUT',
        `the result of line ${line} of batch "${id}" is gone: another collector has taken it, or the batch was removed`,
      );
    }
  }
}

/**
 * A long line goes ahead of its row, under a name that no second result of the line would share; undefined: the batch is
 * gone.
 */
async function storeLong(
  connection: PostgresConnection,
  id: string,
  { line, outcome, text }: LineResult,
): Promise<Written | undefined> {
  const bytes = Buffer.byteLength(text);
  if (bytes <= clusterDefaults.inlineBytes) return { line, outcome, bytes, blob: '', text: `=${text}` };
  const blob = `${line}-${randomBytes(6).toString('hex')}`;
  let piece = 0;
  for (const data of cutText(text, clusterDefaults.blobPieceBytes)) {
    const kept = await connection.rows(
      `INSERT INTO :schema.blob SELECT id, $2, $3, $4 FROM :schema.batch WHERE id = $1
       ON CONFLICT (batch, reference, piece) DO UPDATE SET data = excluded.data RETURNING piece`,
      [id, blob, piece, data],
    );
    if (kept.length === 0) return undefined;
    piece += 1;
  }
  return { line, outcome, bytes, blob, text: `@${JSON.stringify({ line, blob, bytes })}` };
}

/** Without lines it still tells how things stand. */
async function putRow(
  connection: PostgresConnection,
  { id, chunk, owner }: Holder,
  row: Written[],
): Promise<{ standing: Standing; unreadBytes: number }> {
  const lines = row.map(({ line }) => line);
  const { pages, masks } = masksOf(lines);
  const [state] = await connection.rows<{ standing: Standing; unread: number }>(
    'SELECT * FROM :schema.put_results($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
    [
      ...[id, chunk, owner, pages, masks, lines],
      row.map(({ outcome }) => outcome),
      // With the end of the line.
      row.map(({ bytes }) => bytes + 1),
      row.map(({ blob }) => blob),
      row.map(({ text }) => text).join('\n'),
    ],
  );
  return { standing: state?.standing ?? 'cancelled', unreadBytes: state?.unread ?? 0 };
}

function readLine(marked: string): ResultPage['lines'][number] {
  const rest = marked.slice(1);
  return marked.startsWith('@') ? (JSON.parse(rest) as { line: number; blob: string; bytes: number }) : rest;
}
