/** The store on PostgreSQL: what stands in its way is named, its tables are made once, and it outlives a crash. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchPlan } from '../../packages/cluster/src/ledger.js';
import { type ChunkJob, openStore, type Store } from '../../packages/cluster/src/store.js';
import { postgresMissing, startPostgres, type TestPostgres } from '../support/postgres.js';

const plan: BatchPlan = {
  ...{ chunkLines: 256, priority: 0, attempts: 1, windows: {}, rates: {}, shards: 16 },
  maxUnreadBytes: 1_000_000,
};
const batch = (id: string) => ({ id, name: '', createdAt: 1, plan, input: undefined });
const open = (postgres: string, patienceMs = 0): Promise<Store> => openStore({ postgres }, { patienceMs });

const missing = postgresMissing();
if (missing !== undefined) console.warn(`PostgreSQL: its tests are skipped. ${missing}`);

describe.skipIf(missing !== undefined)('the store on PostgreSQL', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
  });

  const withUrl = (change: (url: URL) => void): string => {
    const url = new URL(server.url);
    change(url);
    return url.href;
  };
  async function refusal(url: string): Promise<{ code: string; message: string }> {
    const error: unknown = await open(url).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    const { code, message } = error as { code: string; message: string };
    expect(message).not.toMatch(/open-sesame|wrong-word/);
    return { code, message };
  }

  describe('says what stands in its way, without the password:', () => {
    test('nobody listens', async () => {
      const { code, message } = await refusal('postgres://me:open-sesame@127.0.0.1:9/calls');
      expect(code).toBe('CONNECTION_LOST');
      expect(message).toMatch(/postgres:\/\/127\.0\.0\.1:9\/calls cannot be reached: .*ECONNREFUSED/);
    });

    test('a URL of something else', async () => {
      const { code, message } = await refusal('mysql://me:open-sesame@127.0.0.1/calls');
      expect(code).toBe('BAD_CONFIG');
      expect(message).toContain('must look like postgres://');
    });

    test('a wrong password, and none', async () => {
      for (const password of ['wrong-word', '']) {
        const { code, message } = await refusal(
          withUrl((url) => {
            url.password = password;
          }),
        );
        expect(code).toBe('BAD_CONFIG');
        expect(message).toContain('Check user and password in the URL');
      }
    });

    test('a database that is not there', async () => {
      const { code, message } = await refusal(
        withUrl((url) => {
          url.pathname = '/nowhere';
        }),
      );
      expect(code).toBe('BAD_CONFIG');
      expect(message).toContain('has no such database: database "nowhere" does not exist');
    });

    test('a schema that is no plain name', async () => {
      const { code, message } = await refusal(`${server.url}?schema=a%22b`);
      expect(code).toBe('BAD_CONFIG');
      expect(message).toContain('schema "a\\"b" must be letters');
    });

    test('TLS where there is none', async () => {
      const { code, message } = await refusal(`${server.url}?sslmode=verify-full`);
      expect(code).toBe('CONNECTION_LOST');
      expect(message).toMatch(/does not support SSL.*sslmode/);
    });

    test('a user who may not create', async () => {
      await server.sql(`CREATE ROLE guest LOGIN PASSWORD 'wrong-word'`);
      const { code, message } = await refusal(
        withUrl((url) => {
          url.username = 'guest';
          url.password = 'wrong-word';
        }),
      );
      expect(code).toBe('BAD_CONFIG');
      expect(message).toContain('Grant the user CREATE on the database');
    });

    test('a user who may only read', async () => {
      await server.sql(
        `CREATE ROLE reader LOGIN PASSWORD 'wrong-word'`,
        'ALTER ROLE reader SET default_transaction_read_only = on',
      );
      const { code, message } = await refusal(
        withUrl((url) => {
          url.username = 'reader';
          url.password = 'wrong-word';
        }),
      );
      expect(code).toBe('BAD_CONFIG');
      expect(message).toContain('is read-only');
    });

    test('a database that is not UTF8', async () => {
      await server.sql(`CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0`);
      const { code, message } = await refusal(
        withUrl((url) => {
          url.pathname = '/old';
        }),
      );
      expect(code).toBe('BAD_CONFIG');
      expect(message).toContain(`Create one with ENCODING 'UTF8'`);
    });

    test('tables of a newer version', async () => {
      const url = `${server.url}?schema=newer`;
      await (await open(url)).close();
      await server.sql('UPDATE newer.version SET number = 1000');
      const { code, message } = await refusal(url);
      expect(code).toBe('BAD_CONFIG');
      expect(message).toMatch(/schema "newer" have version 1000/);
    });

    test('a standby', async () => {
      const standby = await startPostgres({ standby: true });
      try {
        const { code, message } = await refusal(standby.url);
        expect(code).toBe('BAD_CONFIG');
        expect(message).toContain('is a standby, which is read-only. Use the URL of the primary');
      } finally {
        await standby.stop();
      }
    });
  });

  test('many that start at the same time make the tables once', async () => {
    const url = `${server.url}?schema=crowded`;
    const stores = await Promise.all(Array.from({ length: 8 }, () => open(url)));
    const made = await Promise.all(stores.map(({ ledger }) => ledger.create(batch('b1'))));
    expect(made.filter(Boolean)).toHaveLength(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('schemas do not see each other', async () => {
    const [left, right] = await Promise.all(
      ['left', 'right'].map((name) => open(`${server.url}?schema=${name}`)),
    );
    await left?.ledger.create(batch('b1'));
    expect(await left?.ledger.batches()).toHaveLength(1);
    expect(await right?.ledger.batches()).toEqual([]);
    await Promise.all([left?.close(), right?.close()]);
  });

  test('a user without the right to create works with tables that are there', async () => {
    const url = `${server.url}?schema=shared`;
    await (await open(url)).close();
    await server.sql(`CREATE ROLE worker LOGIN PASSWORD 'worker'`);
    for (const schema of ['shared', 'shared_bullmq'])
      await server.sql(
        `GRANT USAGE ON SCHEMA ${schema} TO worker`,
        `GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO worker`,
        `GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO worker`,
      );
    const store = await open(
      withUrl((url) => {
        url.username = 'worker';
        url.password = 'worker';
        url.searchParams.set('schema', 'shared');
      }),
    );
    expect(await store.ledger.create(batch('b1'))).toBe(true);
    await store.close();
  });

  test('a crash loses no result and no lease, and work waits until the server is back', async () => {
    const store = await open(`${server.url}?schema=crash`, 30_000);
    const { ledger } = store;
    await ledger.create(batch('b1'));
    await ledger.claim('b1', 'c1', 'one', [1, 2]);
    await ledger.putResults('b1', 'c1', 'one', [{ line: 1, outcome: 'ok', text: '"first"' }]);
    await ledger.lease('shard', 'one', 60_000);
    const crashed = server.crash();
    const sent = ledger.markSent('b1', 'c1', 'one', [2]);
    await crashed;
    expect(await sent).toBe('owner');
    expect(await ledger.lease('shard', 'two', 60_000)).toBe(false);
    expect((await ledger.results('b1', undefined, 1_000)).lines).toEqual(['"first"']);
    expect(await ledger.claim('b1', 'c1', 'two', [1, 2])).toMatchObject({
      answered: new Set([1]),
      sent: new Set([2]),
    });
    await store.close();
  });

  test('chunks queued before and during a crash are all worked on', async () => {
    const store = await open(`${server.url}?schema=queue`, 30_000);
    const queue = store.queue('bulkhead-a');
    const job = (n: number) => ({
      name: 'chunk',
      data: { batch: 'b1', lines: [[n, '{}']] as [number, string][] },
      opts: { jobId: `b1_bulkhead-a_${n}` },
    });
    const worked = new Map<number, number>();
    let tell: () => void = () => {};
    const reach = (count: number): Promise<void> =>
      new Promise((resolve) => {
        tell = () => {
          if (worked.size >= count) resolve();
        };
        tell();
      });
    const worker = store.worker('bulkhead-a', async ({ data }: ChunkJob) => {
      const line = data.lines[0]?.[0] ?? 0;
      worked.set(line, (worked.get(line) ?? 0) + 1);
      tell();
    });
    await queue.addBulk([1, 2, 3].map(job));
    await reach(3);
    let added: Promise<unknown> | undefined;
    await server.crash(async () => {
      added = store.patiently(() => queue.addBulk([4, 5].map(job)));
    });
    await added;
    await reach(5);
    expect([...worked.keys()].sort()).toEqual([1, 2, 3, 4, 5]);
    await worker.close();
    await store.close();
  });

  test('a queue that is first used while the server is away works when it is back', async () => {
    const store = await open(`${server.url}?schema=away`);
    const queue = store.queue('bulkhead-b');
    const job = { name: 'chunk', data: { batch: 'b1', lines: [] }, opts: { jobId: 'b1_b_0' } };
    await server.crash(async () => {
      await expect(store.patiently(() => queue.addBulk([job]))).rejects.toMatchObject({
        code: 'CONNECTION_LOST',
        message: expect.stringContaining('cannot be reached'),
      });
    });
    await queue.addBulk([job]);
    expect(await queue.getJobCounts('waiting')).toEqual({ waiting: 1 });
    await store.close();
  });
});
