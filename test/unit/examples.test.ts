import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { RawHost, type RawMessage } from '../support/raw-host.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const temp = useTempDir();
const hosts: RawHost[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.dispose()));
});

function example(path: string): string {
  return fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));
}

async function start(path: string, ...args: string[]): Promise<RawHost> {
  const host = new RawHost({ command: process.execPath, args: [example(path), ...args] });
  hosts.push(host);
  await host.handshake();
  return host;
}

function textOf({ result }: RawMessage): string {
  const [block] = (result?.content ?? []) as { text: string }[];
  return block?.text ?? '';
}

describe('the SQLite example', () => {
  const seeded = (): string => {
    execFileSync(process.execPath, [example('sqlite/seed.mjs'), temp('library.sqlite')]);
    return temp('library.sqlite');
  };

  test('lists its tables with their columns and rows', async () => {
    const host = await start('sqlite/server.mjs', seeded());
    const tables = JSON.parse(textOf(await host.call('list_tables'))) as { name: string; rows: number }[];
    expect(tables.map(({ name, rows }) => [name, rows])).toEqual([
      ['books', 400],
      ['loans', 1_500],
      ['members', 150],
    ]);
  });

  test('answers a query and says when rows were left out', async () => {
    const host = await start('sqlite/server.mjs', seeded());
    const ask = async (limit: number): Promise<unknown> =>
      JSON.parse(textOf(await host.call('query', { sql: 'SELECT id FROM books WHERE id < 3', limit })));
    expect(await ask(2)).toEqual({ columns: ['id'], rows: [{ id: 1 }, { id: 2 }], truncated: false });
    expect(await ask(1)).toEqual({ columns: ['id'], rows: [{ id: 1 }], truncated: true });
  });

  test('lets the database refuse every write, in its own words, and changes no byte', async () => {
    const path = seeded();
    const before = readFileSync(path);
    const host = await start('sqlite/server.mjs', path);
    for (const sql of [
      'DELETE FROM loans',
      'CREATE TABLE x (a)',
      'INSERT INTO members VALUES (999, 1, 1, 1) RETURNING *',
      'PRAGMA user_version = 7',
    ]) {
      const refused = await host.call('query', { sql });
      expect(refused.result).toMatchObject({ isError: true });
      expect(textOf(refused)).toBe('attempt to write a readonly database');
    }
    expect(textOf(await host.call('query', { sql: 'SELEC' }))).toContain('syntax error');
    expect(textOf(await host.call('query', { sql: "SELECT 'DELETE' AS word" }))).toContain('DELETE');
    host.endInput();
    expect((await host.exited).code).toBe(0);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('says what to do when there is no database', async () => {
    const missing = temp('missing.sqlite');
    const host = new RawHost({ command: process.execPath, args: [example('sqlite/server.mjs'), missing] });
    hosts.push(host);
    expect((await host.exited).code).toBe(1);
    expect(host.stderr).toContain(`No database at ${missing}`);
  });
});

test('the hanging example shakes hands, lists its tool, answers pings, and no call', async () => {
  const host = await start('hang/server.mjs');
  const call = host.send('tools/call', { name: 'wait' });
  expect((await host.request('ping')).result).toEqual({});
  expect((await host.request('tools/list')).result?.tools).toMatchObject([{ name: 'wait' }]);
  expect(host.messages.some(({ id }) => id === call)).toBe(false);
  host.endInput();
  expect((await host.exited).code).toBe(0);
});

test('the echo example gives each text back, also when many calls come at once', async () => {
  const host = await start('echo/server.mjs');
  const texts = Array.from({ length: 100 }, (_, i) => `text ${i} 读`);
  const replies = await Promise.all(texts.map((text) => host.call('echo', { text })));
  expect(replies.map(textOf)).toEqual(texts);
  expect((await host.call('other')).error?.code).toBe(-32602);
  expect((await host.request('prompts/list')).error?.code).toBe(-32601);
  host.endInput();
  expect((await host.exited).code).toBe(0);
});
