/**
 * A Redis server of the tests' own: on a free loopback port, in a temp directory, with its append-only file on.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
const READY = /Ready to accept connections/;
/** Another process may take the free port before the server has it. */
const TRIES = 3;

/**
 * Why tests with Redis cannot run here; undefined when they can.
 * @throws {Error} when it is missing where it must not be: `CI` is set.
 */
export function redisMissing(): string | undefined {
  if (PROGRAM !== undefined) return undefined;
  const message = 'Redis is not installed (no redis-server or valkey-server in PATH).';
  if (process.env.CI) throw new Error(message);
  return message;
}

/** Resolves when it takes connections. */
export function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  return RedisServer.start(options);
}

export interface RedisServerOptions {
  /** Further arguments of the program, `--requirepass secret` for instance. */
  args?: readonly string[];
  /** The port speaks TLS; files of the key, the certificate and its authority. */
  tls?: { key: string; cert: string; ca: string };
}

export class RedisServer {
  readonly port: number;
  readonly #directory: string;
  readonly #options: RedisServerOptions;
  #process: ChildProcess | undefined;

  private constructor(port: number, options: RedisServerOptions) {
    this.port = port;
    this.#options = options;
    this.#directory = mkdtempSync(join(tmpdir(), 'bulkhead-redis-'));
  }

  /** See {@link startRedis}. */
  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(await freePort(), options);
      try {
        await server.start();
        return server;
      } catch (error) {
        await server.stop();
        if (attempt === TRIES) throw error;
      }
    }
  }

  get url(): string {
    return `redis${this.#options.tls === undefined ? '' : 's'}://127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it again after {@link kill}, with the data that it had saved. */
  async start(): Promise<void> {
    const { args = [], tls } = this.#options;
    const port =
      tls === undefined
        ? ['--port', String(this.port)]
        : [
            ...['--port', '0', '--tls-port', String(this.port), '--tls-auth-clients', 'no'],
            ...['--tls-key-file', tls.key, '--tls-cert-file', tls.cert, '--tls-ca-cert-file', tls.ca],
          ];
    const common = ['--bind', '127.0.0.1', '--dir', this.#directory, '--save', '', '--appendonly', 'yes'];
    const child = spawn(PROGRAM ?? 'redis-server', [...port, ...common, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = child;
    const said: string[] = [];
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      said.push(line);
      if (!READY.test(line)) continue;
      // What it says from now on must not fill the pipe.
      child.stdout.resume();
      return;
    }
    throw new Error(`redis-server did not start:\n${said.join('\n')}`);
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Ends it and removes its data. */
  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port');
  return address.port;
}
