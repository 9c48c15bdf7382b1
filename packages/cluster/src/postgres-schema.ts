/**
 * Tables of the ledger on PostgreSQL, and the one place that creates them and the functions. Which lines are sent and
 * answered is kept as bits, a row for every 4 096 lines: more than twice as fast as a row for every line.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { ClientBase } from 'pg';
import { functions } from './postgres-functions.js';
import { PAGE_LINES } from './postgres-lines.js';

export const DEFAULT_SCHEMA = 'bulkhead_cluster';
const VERSION = 1;

/**
 * A name that can stand in SQL.
 * @throws {BulkheadError} `BAD_CONFIG`.
 */
export function schemaName(name: string): string {
  // Room for the suffix of the queue's schema within PostgreSQL's 63 bytes.
  if (/^[A-Za-z_][A-Za-z0-9_]{0,54}$/.test(name)) return name;
  throw new BulkheadError(
    'BAD_CONFIG',
    `The PostgreSQL schema ${JSON.stringify(name)} must be letters, digits and "_", at most 55 of them.`,
  );
}

/**
 * Creates what is missing, once for all that start at the same time. Needs no right to create when all is there.
 * @throws {BulkheadError} `BAD_CONFIG` the tables are of a newer version.
 */
export async function createTables(client: ClientBase, schema: string): Promise<void> {
  if ((await readVersion(client, schema)) === VERSION) return;
  await client.query('BEGIN');
  try {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('bulkhead'), hashtext($1))`, [schema]);
    if ((await readVersion(client, schema)) === undefined) {
      await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
      await client.query(`SET LOCAL search_path = "${schema}"`);
      await client.query(tables);
      await client.query(functions.replaceAll(':schema', `"${schema}"`));
      await client.query('INSERT INTO version (number) VALUES ($1)', [VERSION]);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function readVersion(client: ClientBase, schema: string): Promise<number | undefined> {
  // Not to_regclass(): it may answer from a cache that knows nothing of what was made while this waited for the lock.
  const there = await client.query<{ there: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'version') AS there`,
    [schema],
  );
  if (!there.rows[0]?.there) return undefined;
  const found = await client.query<{ number: number }>(
    `SELECT max(number) AS number FROM "${schema}".version`,
  );
  const number = found.rows[0]?.number;
  if (number !== undefined && number > VERSION)
    throw new BulkheadError(
      'BAD_CONFIG',
      `The tables in the PostgreSQL schema "${schema}" have version ${number}, this Bulkhead knows ${VERSION}. Use the newer Bulkhead here too, or another schema (?schema=… in the URL).`,
    );
  return number;
}

// Results are not compressed: most are small, and compression would cost more than the disk. What only matters while the
// fleet runs is unlogged; leases are logged, because two holders after a crash could mix up the order of calls.
const tables = `
CREATE TABLE version (number int NOT NULL);

CREATE TABLE batch (
  id text PRIMARY KEY,
  name text NOT NULL,
  state text NOT NULL DEFAULT 'open',
  created_at bigint NOT NULL,
  plan jsonb NOT NULL,
  input jsonb,
  lines int NOT NULL DEFAULT 0,
  answered int NOT NULL DEFAULT 0,
  outcomes jsonb NOT NULL DEFAULT '{}',
  unread_bytes bigint NOT NULL DEFAULT 0,
  collected_lines int NOT NULL DEFAULT 0,
  collected_to text,
  last_seq int NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE batch_queue (
  batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
  queue text NOT NULL,
  server text NOT NULL,
  shard int,
  PRIMARY KEY (batch, queue)
);

CREATE TABLE chunk (
  batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
  chunk text NOT NULL,
  submitted boolean NOT NULL DEFAULT false,
  owner text,
  PRIMARY KEY (batch, chunk)
) WITH (fillfactor = 70);

CREATE TABLE line_page (
  batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
  page int NOT NULL,
  sent bit(${PAGE_LINES}) NOT NULL,
  answered bit(${PAGE_LINES}) NOT NULL,
  PRIMARY KEY (batch, page)
) WITH (fillfactor = 30);
ALTER TABLE line_page ALTER COLUMN sent SET STORAGE PLAIN, ALTER COLUMN answered SET STORAGE PLAIN;

CREATE TABLE result (
  batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
  seq int NOT NULL,
  body text NOT NULL,
  lines int NOT NULL,
  bytes bigint NOT NULL,
  blobs text[] NOT NULL,
  PRIMARY KEY (batch, seq)
);
ALTER TABLE result ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE blob (
  batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
  reference text NOT NULL,
  piece int NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (batch, reference, piece)
);
ALTER TABLE blob ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE lease (name text PRIMARY KEY, owner text NOT NULL, expires timestamptz NOT NULL);
CREATE UNLOGGED TABLE worker (id text PRIMARY KEY, record jsonb NOT NULL, expires timestamptz NOT NULL);
CREATE UNLOGGED TABLE place (
  name text NOT NULL,
  owner text NOT NULL,
  count int NOT NULL,
  expires timestamptz NOT NULL,
  PRIMARY KEY (name, owner)
);
CREATE UNLOGGED TABLE rate (name text PRIMARY KEY, due timestamptz NOT NULL);
`;
