/** Forgets a sign-in from outside of a server's thread: nothing but the stored record is touched. Loaded on first use. */
import type { AuthSettings } from './settings.js';

/** Resolves with whether there was something to forget. */
export async function forgetSignIn(serverUrl: string, settings: AuthSettings): Promise<boolean> {
  const { FileTokenStore } = await import('./file-store.js');
  const { storeKey } = await import('./token-store.js');
  const store = new FileTokenStore();
  const key = storeKey(serverUrl, settings);
  return store.exclusively(key, async () => {
    const record = await store.read(key);
    await store.delete(key);
    return record !== undefined;
  });
}
