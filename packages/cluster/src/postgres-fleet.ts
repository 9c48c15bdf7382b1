/** What the workers share, on PostgreSQL: queues, who lives, leases, places and permits. Time is the server's. */
import type { QueueRecord, WorkerRecord } from './ledger.js';
import type { PostgresConnection } from './postgres-connection.js';

const TTL = (parameter: string) => `(${parameter} * interval '1 ms')`;

export class PostgresFleet {
  protected readonly connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.connection = connection;
  }

  async queues(): Promise<QueueRecord[]> {
    const rows = await this.connection.rows<{ queue: string; server: string; shard: number | null }>(
      'SELECT DISTINCT queue, server, shard FROM :schema.batch_queue ORDER BY queue',
    );
    return rows.map(({ queue, server, shard }) => ({ queue, server, shard: shard ?? undefined }));
  }

  async beat(worker: WorkerRecord, ttlMs: number): Promise<void> {
    if (ttlMs <= 0) {
      await this.connection.rows('DELETE FROM :schema.worker WHERE id = $1', [worker.id]);
      return;
    }
    await this.connection.rows(
      `WITH gone AS (DELETE FROM :schema.worker WHERE expires <= clock_timestamp() AND id <> $1)
       INSERT INTO :schema.worker VALUES ($1, $2, clock_timestamp() + ${TTL('$3')})
       ON CONFLICT (id) DO UPDATE SET record = excluded.record, expires = excluded.expires`,
      [worker.id, JSON.stringify(worker), ttlMs],
    );
  }

  async workers(): Promise<WorkerRecord[]> {
    const rows = await this.connection.rows<{ record: WorkerRecord }>(
      'SELECT record FROM :schema.worker WHERE expires > clock_timestamp() ORDER BY id',
    );
    return rows.map(({ record }) => record);
  }

  async lease(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const held = await this.connection.rows(
      `INSERT INTO :schema.lease AS held VALUES ($1, $2, clock_timestamp() + ${TTL('$3')})
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
       WHERE held.owner = excluded.owner OR held.expires <= clock_timestamp() RETURNING name`,
      [name, owner, ttlMs],
    );
    return held.length > 0;
  }

  async release(name: string, owner: string): Promise<void> {
    await this.connection.rows(
      `WITH places AS (DELETE FROM :schema.place WHERE name = $1 AND owner = $2)
       DELETE FROM :schema.lease WHERE name = $1 AND owner = $2`,
      [name, owner],
    );
  }

  async isLeased(name: string): Promise<boolean> {
    const held = await this.connection.rows(
      'SELECT 1 FROM :schema.lease WHERE name = $1 AND expires > clock_timestamp()',
      [name],
    );
    return held.length > 0;
  }

  async places(name: string, owner: string, want: number, limit: number, ttlMs: number): Promise<number> {
    const [row] = await this.connection.rows<{ granted: number }>(
      `SELECT :schema.places($1, $2, $3, $4, ${TTL('$5')}) AS granted`,
      [name, owner, want, limit, ttlMs],
    );
    return row?.granted ?? 0;
  }

  async permits(name: string, count: number, perSecond: number): Promise<number> {
    const [row] = await this.connection.rows<{ wait: number }>(
      `SELECT :schema.permits($1, ${TTL('$2')}) AS wait`,
      [name, (count / perSecond) * 1_000],
    );
    return row?.wait ?? 0;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}
