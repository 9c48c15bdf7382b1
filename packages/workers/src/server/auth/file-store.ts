/**
 * Tokens in files: one per key, 0600, in a 0700 directory, replaced by rename so that a reader sees the old or the
 * new one, never half of one. A lock directory beside each keeps refreshes of several processes apart.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import lockfile from 'proper-lockfile';
import { authDefaults } from './settings.js';
import { type AuthRecord, parseRecord, type TokenStore } from './token-store.js';

/** `$XDG_STATE_HOME/bulkhead/auth`, by default `~/.local/state/bulkhead/auth`. */
export function authDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'bulkhead', 'auth');
}

export class FileTokenStore implements TokenStore {
  readonly #directory: string;

  constructor(directory: string = authDirectory()) {
    this.#directory = directory;
  }

  async read(key: string): Promise<AuthRecord | undefined> {
    try {
      return parseRecord(await readFile(this.#path(key), 'utf8'));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async write(key: string, record: AuthRecord): Promise<void> {
    await this.#makeDirectory();
    const path = this.#path(key);
    const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify(record));
        // A rename may reach the disk before the bytes do; a token lost to a power cut cannot be refreshed again.
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await rm(this.#path(key), { force: true });
  }

  async exclusively<T>(key: string, work: () => Promise<T>): Promise<T> {
    return withLock(await this.#makeDirectory(), key, work);
  }

  async #makeDirectory(): Promise<string> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    // It may be older than us and wider; `mkdir` leaves that as it is.
    await chmod(this.#directory, 0o700);
    return this.#directory;
  }

  #path(key: string): string {
    return join(this.#directory, `${key}.json`);
  }
}

/** Runs `work` as the only one in all processes that use `directory`. */
export async function withLock<T>(directory: string, key: string, work: () => Promise<T>): Promise<T> {
  const pauseMs = 100;
  const release = await lockfile.lock(join(directory, key), {
    realpath: false,
    stale: authDefaults.lockStaleMs,
    retries: { retries: authDefaults.lockWaitMs / pauseMs, factor: 1, minTimeout: pauseMs, randomize: false },
    // The default throws from a timer and would end the thread. A lock lost to a long pause only risks one refresh
    // too many, which compare-and-delete survives.
    onCompromised: () => {},
  });
  try {
    return await work();
  } finally {
    await release().catch(() => {});
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
