/**
 * BullMQ's PostgreSQL back end, except that a queue whose first connection fails tries again with the next command; BullMQ
 * would keep that first failure for good. Tables are checked when the store is opened, not by every queue.
 */
import {
  type BackendFactory,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
} from 'bullmq';

export const postgresQueueBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (
  name,
  options,
) => new Backend(new Connection(options.connection), name, options);

class Connection extends PostgresConnection {
  #ready: Promise<void> | undefined;

  override waitUntilReady(): Promise<void> {
    this.#ready ??= this.#reach().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #reach(): Promise<void> {
    await this.pool.query('SELECT 1');
    this.emit('ready');
  }
}

class Backend extends PostgresQueueBackend {
  readonly #connection: Connection;

  constructor(
    connection: Connection,
    name: string,
    options: ConstructorParameters<typeof PostgresQueueBackend>[2],
  ) {
    super(connection, name, options, true);
    this.#connection = connection;
  }

  override waitUntilReady(): Promise<void> {
    return this.#connection.waitUntilReady();
  }
}
