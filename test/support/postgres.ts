/**
 * A PostgreSQL of the tests' own: a fresh cluster in a temp directory, on a free loopback port, with a password. It runs as
 * an unprivileged user where the tests run as root, because it refuses root.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const DEBIAN = '/usr/lib/postgresql';
const PASSWORD = 'open-sesame';

export interface TestPostgres {
  /** With user and password, database `postgres`. */
  readonly url: string;
  /** Runs statements as the administrator, each by itself. */
  sql(...statements: string[]): Promise<void>;
  /** Ends it as a crash would, and starts it again on the same data and port. @param whileAway Runs before the start. */
  crash(whileAway?: () => Promise<void>): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Why tests with PostgreSQL cannot run here; undefined when they can.
 * @throws {Error} when it is missing where it must not be: `CI` and `BULKHEAD_NEEDS_POSTGRES=1` are set.
 */
export function postgresMissing(): string | undefined {
  if (findBin() !== undefined) return undefined;
  const message = 'PostgreSQL is not installed (no initdb in PATH or /usr/lib/postgresql/*/bin).';
  if (process.env.CI && process.env.BULKHEAD_NEEDS_POSTGRES === '1') throw new Error(message);
  return message;
}

export interface PostgresOptions {
  /** Of `postgresql.conf`, for instance `{ default_transaction_read_only: 'on' }`. */
  settings?: Record<string, string>;
  /** Starts as a standby without a primary: it can be read, never written. */
  standby?: boolean;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const bin = findBin();
  if (bin === undefined) throw new Error('PostgreSQL is not installed.');
  const account = unprivileged();
  const home = mkdtempSync(join(tmpdir(), 'bulkhead-postgres-'));
  const data = join(home, 'data');
  const secret = join(home, 'password');
  await writeFile(secret, PASSWORD);
  if (account) for (const path of [home, secret]) chownSync(path, account.uid, account.gid);
  const how = { cwd: home, ...account };
  await run(
    join(bin, 'initdb'),
    [
      ...['-D', data, '-U', 'bulkhead', '--encoding=UTF8', '--locale=C', '--no-sync'],
      ...['--auth=scram-sha-256', `--pwfile=${secret}`],
    ],
    how,
  );
  if (options.standby) await writeFile(join(data, 'standby.signal'), '');
  const port = await freePort();
  const all = { fsync: 'off', listen_addresses: '127.0.0.1', unix_socket_directories: home };
  Object.assign(all, options.settings);
  const args = ['-D', data, '-p', String(port)];
  for (const [name, value] of Object.entries(all)) args.push('-c', `${name}=${value}`);
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(join(bin, 'postgres'), args, { ...how, stdio: ['ignore', 'ignore', 'pipe'] });
    await ready(child);
    return child;
  };
  let child = await start();
  const url = `postgres://bulkhead:${PASSWORD}@127.0.0.1:${port}/postgres`;
  return {
    url,
    async sql(...statements) {
      const commands = statements.flatMap((statement) => ['-c', statement]);
      await run(join(bin, 'psql'), [url, '--no-psqlrc', '--quiet', '-v', 'ON_ERROR_STOP=1', ...commands]);
    },
    async crash(whileAway) {
      await end(child, 'SIGQUIT');
      await whileAway?.();
      child = await start();
    },
    async stop() {
      await end(child, 'SIGINT');
      await rm(home, { recursive: true, force: true });
    },
  };
}

function findBin(): string | undefined {
  const places = (process.env.PATH ?? '').split(delimiter);
  if (existsSync(DEBIAN))
    for (const version of readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)))
      places.push(join(DEBIAN, version, 'bin'));
  const place = places.find((place) => place !== '' && executable(join(place, 'initdb')));
  // Behind a link stand the other programs, too.
  return place && dirname(realpathSync(join(place, 'initdb')));
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL wants an account that has a name; undefined: the tests' own will do. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const rows = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((row) => row.split(':'));
  const row = rows.find(([name]) => name === 'postgres') ?? rows.find(([name]) => name === 'nobody');
  if (!row) throw new Error('There is neither a user "postgres" nor "nobody" to run PostgreSQL as.');
  return { uid: Number(row[2]), gid: Number(row[3]) };
}

async function ready(child: ChildProcess): Promise<void> {
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
      if (/ready to accept (read-only )?connections/.test(log)) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${log}`)));
  });
}

async function end(child: ChildProcess, signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill(signal);
  await ended;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port.');
  return address.port;
}
