/**
 * New tokens without a person: by refresh token, or as the client itself. Runs under the store's lock, keeps what it
 * gets, and decides what a refusal costs: nothing, but for the refresh token that is invalid and still the stored one.
 */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { authRefused } from './auth-failure.js';
import { configuredClient } from './client-identity.js';
import type { AuthorizationPlace } from './discovery.js';
import type { AuthSettings } from './settings.js';
import { requestTokens, TokenRefusal } from './token-request.js';
import { type AuthRecord, forgetTokens, type StoredTokens, type TokenStore } from './token-store.js';

/** Tokens that are stored already, or why only a person can get some. */
export type Renewal = { tokens: StoredTokens } | { loginBecause: string };

export interface RenewalContext {
  server: string;
  settings: AuthSettings;
  store: TokenStore;
  key: string;
  now: () => number;
  fetch: FetchLike;
}

/** @throws {Error} when the authorization server did not really answer: everything is kept. */
export async function refreshTokens(
  context: RenewalContext,
  place: AuthorizationPlace,
  record: AuthRecord,
  refreshToken: string,
): Promise<Renewal> {
  const { settings, store, key } = context;
  const client = configuredClient(settings) ?? record.client;
  const grant = { type: 'refresh_token', refreshToken } as const;
  try {
    const { tokens } = await requestTokens(grant, place, client, settings, context.now(), context.fetch);
    await store.write(key, { ...record, tokens });
    return { tokens };
  } catch (error) {
    if (!(error instanceof TokenRefusal)) throw error;
    switch (error.code) {
      case 'invalid_grant': {
        const left = await forgetTokens(store, key, refreshToken);
        // Somebody without our lock stored fresh ones meanwhile.
        if (left?.tokens !== undefined) return { tokens: left.tokens };
        return { loginBecause: 'the sign-in has ended (the refresh token is no longer valid)' };
      }
      case 'invalid_client':
      case 'unauthorized_client': {
        // Without its redirect a registration is not used again: the next sign-in registers anew.
        const { redirectUri: _gone, ...refused } = record.client;
        await store.write(key, { ...record, client: refused });
        return { loginBecause: `the authorization server does not accept the client (${error.message})` };
      }
      default:
        throw error;
    }
  }
}

/** @throws {BulkheadError} when the client is not configured or not accepted. */
export async function clientCredentials(
  context: RenewalContext,
  place: AuthorizationPlace,
  scopes: string[],
): Promise<StoredTokens> {
  const { server, settings, store, key } = context;
  const client = configuredClient(settings);
  if (client === undefined) {
    const why = 'is configured with "auth.grant": "client_credentials" but without "auth.clientId"';
    throw authRefused(server, why, 'Set it, and "auth.clientSecret" or "auth.privateKey".');
  }
  const grant = { type: 'client_credentials', scopes } as const;
  try {
    const { tokens } = await requestTokens(grant, place, client, settings, context.now(), context.fetch);
    // The configured secret stays where the entry has it.
    await store.write(key, { issuer: place.issuer, client: { clientId: client.clientId }, tokens, scopes });
    return tokens;
  } catch (error) {
    if (!(error instanceof TokenRefusal)) throw error;
    const why = `did not get a token for client "${client.clientId}" from ${place.issuer}: ${error.message}`;
    throw authRefused(server, why, 'Check "auth" of the entry.', error);
  }
}
