/**
 * What is remembered about one server between runs, and the port that stores keep. Everything in a record belongs to
 * one authorization server, `issuer`, and is never shown to another.
 */
import { createHash } from 'node:crypto';
import type { AuthSettings } from './settings.js';

export interface StoredClient {
  clientId: string;
  clientSecret?: string;
  /** `token_endpoint_auth_method` that the registration answered. */
  authMethod?: string;
  /** Redirect the registration was made with; a later login tries the same port. */
  redirectUri?: string;
}

export interface StoredTokens {
  accessToken: string;
  refreshToken?: string;
  /** Wall-clock time from which it is not used any more, a little before its end; undefined when nobody said. */
  expiresAtMs?: number;
}

export interface AuthRecord {
  issuer: string;
  client: StoredClient;
  tokens?: StoredTokens;
  /** Every scope asked for so far. */
  scopes: string[];
  /** What a request lacked while no person was at hand: the next sign-in asks for it too. */
  wantedScopes?: string[];
}

export interface TokenStore {
  read(key: string): Promise<AuthRecord | undefined>;
  write(key: string, record: AuthRecord): Promise<void>;
  delete(key: string): Promise<void>;
  /** Runs `work` while no other thread or process runs one with the same key. */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** One key per server URL and configured identity: two entries with different clients must not share tokens. */
export function storeKey(serverUrl: string, settings: AuthSettings): string {
  const { grant = 'authorization_code', clientId, clientMetadataUrl, issuer, scopes = [] } = settings;
  const identity = [new URL(serverUrl).href, grant, clientId, clientMetadataUrl, issuer, [...scopes].sort()];
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32);
}

/**
 * Forgets the tokens, but only while the refused refresh token is still the stored one: another process may have
 * stored fresh ones meanwhile. Call it inside `exclusively`. Gives what is stored afterwards.
 */
export async function forgetTokens(
  store: TokenStore,
  key: string,
  refusedRefreshToken: string,
): Promise<AuthRecord | undefined> {
  const record = await store.read(key);
  if (record?.tokens?.refreshToken !== refusedRefreshToken) return record;
  const { tokens: _gone, ...rest } = record;
  await store.write(key, rest);
  return rest;
}

/** Undefined for anything that is no record: a damaged one costs a sign-in, never a crash. */
export function parseRecord(text: string): AuthRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is AuthRecord {
  if (!isObject(value) || typeof value.issuer !== 'string' || !Array.isArray(value.scopes)) return false;
  if (!isObject(value.client) || typeof value.client.clientId !== 'string') return false;
  return (
    value.tokens === undefined || (isObject(value.tokens) && typeof value.tokens.accessToken === 'string')
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
