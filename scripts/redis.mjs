/**
 * A Redis (or Valkey) of a command's own: a free loopback port, a temp directory, its append-only file on, nothing evicted.
 * For test:cluster, the bench and the simulation; what is there is never touched.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAMS = ['redis-server', 'valkey-server'];

/**
 * @param {string[]} args further arguments of the program
 * @throws {Error} when no such program is installed, or when it does not start
 */
export async function startRedis(args = []) {
  const program = PROGRAMS.find((name) => spawnSync(name, ['--version']).status === 0);
  if (program === undefined) {
    throw new Error(
      `this needs a Redis server, and none of ${PROGRAMS.join(', ')} is in PATH; install one, for instance with ` +
        '`apt-get install redis-server` or `brew install redis`',
    );
  }
  const redis = new OwnRedis(program, await freePort(), args);
  await redis.start();
  return redis;
}

class OwnRedis {
  #program;
  #args;
  #directory = mkdtempSync(join(tmpdir(), 'bulkhead-redis-'));
  #process;
  port;

  constructor(program, port, args) {
    this.#program = program;
    this.#args = args;
    this.port = port;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid() {
    return this.#process?.pid;
  }

  /** Resolves when it takes connections; after {@link end} with the data that it had saved. */
  async start() {
    const child = spawn(
      this.#program,
      [
        ...['--bind', '127.0.0.1', '--port', String(this.port), '--dir', this.#directory, '--save', ''],
        ...['--appendonly', 'yes', '--maxmemory-policy', 'noeviction', ...this.#args],
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#process = child;
    // A command that fails leaves none behind.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    const said = [];
    for await (const line of createInterface({ input: child.stdout })) {
      said.push(line);
      if (!line.includes('Ready to accept connections')) continue;
      // What it says from now on must not fill the pipe.
      child.stdout.resume();
      return;
    }
    throw new Error(`${this.#program} did not start:\n${said.slice(-5).join('\n')}`);
  }

  /** @param {'SIGKILL' | 'SIGTERM'} signal */
  async end(signal = 'SIGKILL') {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  /** Ends it and removes its data. */
  async stop() {
    await this.end();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
