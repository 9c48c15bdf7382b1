/**
 * The ledger on PostgreSQL: batches and the steps of a chunk. What the fleet shares is in postgres-fleet.ts, what happens
 * inside the database in postgres-schema.ts and postgres-functions.ts.
 */
import { BulkheadError } from '@bulkhead/workers';
import type {
  BatchRecord,
  BatchState,
  Claim,
  Ledger,
  LineResult,
  QueueRecord,
  ResultPage,
  Standing,
} from './ledger.js';
import { PostgresFleet } from './postgres-fleet.js';
import { masksOf, PAGE_LINES } from './postgres-lines.js';
import { putResults, readBlob, readResults } from './postgres-results.js';
import { queueOfChunk } from './queue-names.js';

/** A check is asked for by a person, who should not wait long to hear that the server is away. */
const CHECK_PATIENCE_MS = 1_000;

export class PostgresLedger extends PostgresFleet implements Ledger {
  async check(): Promise<string[]> {
    const [server] = await this.connection.rows<{ version: number; off: string[] | null }>(
      `SELECT current_setting('server_version_num')::int / 10000 AS version,
         (SELECT array_agg(name ORDER BY name) FROM pg_settings
          WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off') AS off`,
      [],
      CHECK_PATIENCE_MS,
    );
    const warnings = (server?.off ?? []).map(
      (name) =>
        `PostgreSQL has ${name} = off: a crash there can lose results that were written. Set it to on.`,
    );
    if (server && server.version < 14)
      warnings.push(`PostgreSQL is version ${server.version}; the queue recommends 14 or newer.`);
    return warnings;
  }

  async create(batch: Pick<BatchRecord, 'id' | 'name' | 'createdAt' | 'plan' | 'input'>): Promise<boolean> {
    const made = await this.connection.rows(
      `INSERT INTO :schema.batch (id, name, created_at, plan, input) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT DO NOTHING RETURNING id`,
      [
        batch.id,
        batch.name,
        batch.createdAt,
        JSON.stringify(batch.plan),
        JSON.stringify(batch.input ?? null),
      ],
    );
    return made.length > 0;
  }

  async batch(id: string): Promise<BatchRecord | undefined> {
    const rows = await this.connection.rows<BatchRow>(`${SELECT_BATCH} WHERE id = $1`, [id]);
    return rows[0] && batchRecord(rows[0]);
  }

  async batches(): Promise<BatchRecord[]> {
    return (await this.connection.rows<BatchRow>(`${SELECT_BATCH} ORDER BY created_at, id`)).map(batchRecord);
  }

  async submitted(id: string, queues: QueueRecord[], chunks: string[], lines: number): Promise<void> {
    await this.#known(
      id,
      `WITH known AS (UPDATE :schema.batch SET lines = greatest(lines, $2) WHERE id = $1 RETURNING id),
       queues AS (
         INSERT INTO :schema.batch_queue (batch, queue, server, shard)
         SELECT id, queue, server, shard FROM known, unnest($3::text[], $4::text[], $5::int[]) q (queue, server, shard)
         ON CONFLICT DO NOTHING),
       chunks AS (
         INSERT INTO :schema.chunk (batch, chunk, submitted)
         SELECT DISTINCT id, chunk, true FROM known, unnest($6::text[]) chunk
         ON CONFLICT (batch, chunk) DO UPDATE SET submitted = true)
       SELECT id FROM known`,
      [
        lines,
        queues.map(({ queue }) => queue),
        queues.map(({ server }) => server),
        queues.map(({ shard }) => shard ?? null),
        chunks,
      ],
    );
  }

  async seal(id: string, lines: number): Promise<void> {
    await this.#known(
      id,
      `UPDATE :schema.batch SET lines = greatest(lines, $2),
         state = CASE state WHEN 'open' THEN 'sealed' ELSE state END
       WHERE id = $1 RETURNING id`,
      [lines],
    );
  }

  async chunks(id: string): Promise<Map<string, string[]>> {
    const rows = await this.connection.rows<{ chunk: string }>(
      'SELECT chunk FROM :schema.chunk WHERE batch = $1 AND submitted ORDER BY chunk',
      [id],
    );
    const chunks = new Map<string, string[]>();
    for (const { chunk } of rows) {
      const queue = queueOfChunk(chunk);
      chunks.set(queue, [...(chunks.get(queue) ?? []), chunk]);
    }
    return chunks;
  }

  async cancel(id: string): Promise<void> {
    await this.#known(
      id,
      // One that is finished stays so.
      `UPDATE :schema.batch
       SET state = CASE WHEN state = 'sealed' AND answered >= lines THEN state ELSE 'cancelled' END
       WHERE id = $1 RETURNING id`,
    );
  }

  async remove(id: string): Promise<void> {
    await this.connection.rows('DELETE FROM :schema.batch WHERE id = $1', [id]);
  }

  async claim(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<Claim> {
    const [row] = await this.connection.rows<{
      state: BatchState;
      answered: number[] | null;
      sent: number[] | null;
    }>('SELECT * FROM :schema.claim($1, $2, $3, $4, $5)', [id, chunk, owner, lines, masksOf(lines).pages]);
    return {
      state: row?.state ?? 'cancelled',
      answered: new Set(row?.answered ?? []),
      sent: new Set(row?.sent ?? []),
    };
  }

  async markSent(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<Standing> {
    const { pages, masks } = masksOf(lines);
    const [row] = await this.connection.rows<{ standing: Standing }>(
      'SELECT :schema.mark_sent($1, $2, $3, $4, $5) AS standing',
      [id, chunk, owner, pages, masks],
    );
    return row?.standing ?? 'cancelled';
  }

  async unmarkSent(id: string, chunk: string, owner: string, lines: readonly number[]): Promise<void> {
    const { pages, masks } = masksOf(lines);
    await this.connection.rows(
      `WITH own AS (
         SELECT 1 FROM :schema.chunk WHERE batch = $1 AND chunk = $2 AND owner = $3 FOR SHARE)
       UPDATE :schema.line_page SET sent = sent & ~m.mask
       FROM unnest($4::int[], $5::bit(${PAGE_LINES})[]) m (page, mask)
       WHERE batch = $1 AND line_page.page = m.page AND EXISTS (SELECT 1 FROM own)`,
      [id, chunk, owner, pages, masks],
    );
  }

  putResults(
    id: string,
    chunk: string,
    owner: string,
    results: readonly LineResult[],
  ): Promise<{ standing: Standing; unreadBytes: number }> {
    return putResults(this.connection, { id, chunk, owner }, results);
  }

  results(id: string, cursor: string | undefined, maxBytes: number): Promise<ResultPage> {
    return readResults(this.connection, id, cursor, maxBytes);
  }

  blob(id: string, reference: string): AsyncIterable<Buffer> {
    return readBlob(this.connection, id, reference);
  }

  async collected(id: string, cursor: string, to: string): Promise<void> {
    await this.connection.rows('SELECT :schema.collected($1, $2, $3)', [id, Number(cursor), to]);
  }

  async #known(id: string, sql: string, values: unknown[] = []): Promise<void> {
    const found = await this.connection.rows(sql, [id, ...values]);
    if (found.length === 0)
      throw new BulkheadError(
        'BAD_INPUT',
        `there is no batch "${id}" in PostgreSQL at ${this.connection.address.place}`,
      );
  }
}

const SELECT_BATCH = `SELECT id, name, state, created_at::float8 AS "createdAt", plan, input, lines, answered, outcomes,
  unread_bytes::float8 AS "unreadBytes", collected_lines AS "collectedLines", collected_to AS "collectedTo"
  FROM :schema.batch`;

interface BatchRow extends Omit<BatchRecord, 'input' | 'collected'> {
  input: BatchRecord['input'] | null;
  collectedLines: number;
  collectedTo: string | null;
}

function batchRecord({ input, collectedLines, collectedTo, ...rest }: BatchRow): BatchRecord {
  return {
    ...rest,
    input: input ?? undefined,
    collected: collectedTo === null ? undefined : { lines: collectedLines, to: collectedTo },
  };
}
