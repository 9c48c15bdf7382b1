/**
 * Tokens in the keyring of the operating system, for those who installed `@napi-rs/keyring` and asked for it. The
 * package is loaded only here and only then. Locks stay files: keyrings have none.
 */
import { mkdir } from 'node:fs/promises';
import { authDirectory, withLock } from './file-store.js';
import { type AuthRecord, parseRecord, type TokenStore } from './token-store.js';

interface KeyringEntry {
  getPassword(): string | null;
  setPassword(password: string): void;
  deletePassword(): boolean;
}
interface KeyringModule {
  Entry: new (service: string, account: string) => KeyringEntry;
}

const SERVICE = 'bulkhead';
// A variable name, so that neither the compiler nor the bundler wants the optional package.
const PACKAGE: string = '@napi-rs/keyring';

/** Undefined when the package is missing or no keyring answers (a container, a session without a desktop). */
export async function openKeyringStore(
  lockDirectory: string = authDirectory(),
  load: () => Promise<unknown> = () => import(PACKAGE),
): Promise<TokenStore | undefined> {
  try {
    const { Entry } = (await load()) as KeyringModule;
    // Only a real round trip tells a usable keyring from one that is merely installed.
    const trial = new Entry(SERVICE, 'trial');
    trial.setPassword('trial');
    const works = trial.getPassword() === 'trial';
    trial.deletePassword();
    return works ? new KeyringTokenStore(Entry, lockDirectory) : undefined;
  } catch {
    return undefined;
  }
}

class KeyringTokenStore implements TokenStore {
  readonly #Entry: KeyringModule['Entry'];
  readonly #lockDirectory: string;

  constructor(Entry: KeyringModule['Entry'], lockDirectory: string) {
    this.#Entry = Entry;
    this.#lockDirectory = lockDirectory;
  }

  async read(key: string): Promise<AuthRecord | undefined> {
    const text = new this.#Entry(SERVICE, key).getPassword();
    return text === null ? undefined : parseRecord(text);
  }

  async write(key: string, record: AuthRecord): Promise<void> {
    new this.#Entry(SERVICE, key).setPassword(JSON.stringify(record));
  }

  async delete(key: string): Promise<void> {
    new this.#Entry(SERVICE, key).deletePassword();
  }

  async exclusively<T>(key: string, work: () => Promise<T>): Promise<T> {
    await mkdir(this.#lockDirectory, { recursive: true, mode: 0o700 });
    return withLock(this.#lockDirectory, key, work);
  }
}
