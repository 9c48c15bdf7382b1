/**
 * Which `fetch` a remote server's transport gets: with the configured header alone, or with tokens. The one door of
 * this directory for the transport and for the login operation.
 */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { authorizedFetch, fetchWithFixedHeader } from './authorized-fetch.js';
import { Authorizer } from './authorizer.js';
import { FileTokenStore } from './file-store.js';
import { openKeyringStore } from './keyring-store.js';
import type { OpenUrl } from './login.js';
import { type AuthSettings, fixedAuthorization } from './settings.js';
import type { TokenStore } from './token-store.js';

export interface CredentialsOptions {
  server: string;
  serverUrl: string;
  /** Of the entry, expanded. One named `Authorization` disables OAuth. */
  headers: readonly (readonly [string, string])[];
  settings?: AuthSettings;
  store?: TokenStore;
  /** Only when somebody asked to sign in. */
  open?: OpenUrl;
  /** For requests to authorization servers and for the transport alike. Default the global `fetch`. */
  fetch?: FetchLike;
  /** Wall clock, default `Date.now`. */
  now?: () => number;
}

export interface Credentials {
  /** Undefined when a configured header disables OAuth. */
  authorizer: Authorizer | undefined;
  /** Hand this to the transport in place of `base`. */
  wrap(base?: FetchLike): FetchLike;
}

export function credentialsFor(options: CredentialsOptions): Credentials {
  const { server, serverUrl, headers, settings = {}, store = new FileTokenStore(), open } = options;
  const base = options.fetch ?? fetch;
  const header = fixedAuthorization(headers);
  if (header !== undefined) {
    return { authorizer: undefined, wrap: (own = base) => fetchWithFixedHeader(server, header, own) };
  }
  const optional = { ...(open && { open }), ...(options.now && { now: options.now }) };
  const authorizer = new Authorizer({ server, serverUrl, settings, store, fetch: base, ...optional });
  return { authorizer, wrap: (own = base) => authorizedFetch(authorizer, own) };
}

/** The store that was asked for; a keyring that does not work gives way to files. */
export async function openTokenStore(kind: 'file' | 'keyring', directory?: string): Promise<TokenStore> {
  const keyring = kind === 'keyring' ? await openKeyringStore(directory) : undefined;
  return keyring ?? new FileTokenStore(directory);
}
