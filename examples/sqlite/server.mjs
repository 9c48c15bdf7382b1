#!/usr/bin/env node
/**
 * A read-only SQLite server over stdio: `node server.mjs <file>`. What a query may do is decided by the database, which
 * is opened read-only: no list of forbidden words stands in front of it.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import sqlite from 'node-sqlite3-wasm';
import { z } from 'zod';

const DEFAULT_ROWS = 100;
const MAX_ROWS = 1_000;
const READ_ONLY = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

const argument = process.argv[2];
if (argument === undefined) fail('Usage: node server.mjs <database file>');
const path = resolve(argument);
if (!existsSync(path)) fail(`No database at ${path}. Make the example one with: node seed.mjs ${argument}`);
const db = new sqlite.Database(path, { readOnly: true, fileMustExist: true });

const server = new McpServer(
  { name: 'sqlite', version: '1.0.0', title: 'Read-only SQLite' },
  { instructions: 'Call list_tables first; it gives the columns. Dates are ISO text.' },
);

server.registerTool(
  'list_tables',
  { description: 'Tables with their columns and number of rows.', inputSchema: {}, annotations: READ_ONLY },
  () => answer(listTables),
);

server.registerTool(
  'query',
  {
    description:
      'Runs one SQL statement that reads. Gives the columns, the rows and whether rows were left out.',
    inputSchema: {
      sql: z.string().describe('One SELECT, WITH, EXPLAIN or reading PRAGMA statement'),
      limit: z.number().int().min(1).max(MAX_ROWS).default(DEFAULT_ROWS).describe('Most rows to give'),
    },
    annotations: READ_ONLY,
  },
  ({ sql, limit }) => answer(() => query(sql, limit)),
);

function listTables() {
  const tables = db.all(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  );
  return tables.map(({ name }) => ({
    name,
    columns: db.all('SELECT name, type FROM pragma_table_info(?)', [name]),
    rows: db.get(`SELECT count(*) AS n FROM "${String(name).replaceAll('"', '""')}"`).n,
  }));
}

function query(sql, limit) {
  const statement = db.prepare(sql);
  try {
    const rows = [];
    let truncated = false;
    for (const row of statement.iterate()) {
      truncated = rows.length === limit;
      if (truncated) break;
      rows.push(row);
    }
    return { columns: Object.keys(rows[0] ?? {}), rows, truncated };
  } finally {
    statement.finalize();
    // A BEGIN would hold the lock for everybody else until this server ends.
    if (db.inTransaction) db.exec('ROLLBACK');
  }
}

/** The database's own words are the error: the model can correct its statement by them. */
function answer(read) {
  try {
    return { content: [{ type: 'text', text: JSON.stringify(read(), plain) }] };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const hint = text.includes('locked')
      ? ` (if nobody else uses it, remove the stale directory ${path}.lock)`
      : '';
    return { isError: true, content: [{ type: 'text', text: text + hint }] };
  }
}

/** JSON has neither integers above 2^53 nor bytes. */
function plain(_key, value) {
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

process.stdin.on('end', () => db.close());
await server.connect(new StdioServerTransport());
