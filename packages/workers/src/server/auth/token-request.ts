/**
 * The token endpoint: one request for each of the three grants, the client's own proof added the way the authorization
 * server takes it, and the answer read without trust. Source: RFC 6749 sections 4.1.3, 4.4, 5 and 6; RFC 7523; RFC 8707.
 */
import { selectClientAuthMethod } from '@modelcontextprotocol/sdk/client/auth.js';
import { OAuthTokensSchema } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ask, excerpt } from './auth-request.js';
import { words } from './challenge.js';
import type { AuthorizationPlace } from './discovery.js';
import { type AuthSettings, authDefaults } from './settings.js';
import type { StoredClient, StoredTokens } from './token-store.js';

export type Grant =
  | { type: 'authorization_code'; code: string; verifier: string; redirectUri: string }
  | { type: 'refresh_token'; refreshToken: string }
  | { type: 'client_credentials'; scopes: readonly string[] };

export interface Granted {
  tokens: StoredTokens;
  /** What the answer says was granted; undefined when it says nothing. */
  scopes: string[] | undefined;
}

/** The authorization server understood and said no, with a code of RFC 6749 section 5.2. */
export class TokenRefusal extends Error {
  readonly code: string;
  constructor(code: string, description: string) {
    super(description === '' ? code : `${code}: ${description}`);
    this.code = code;
  }
}

/** @throws {TokenRefusal} for a definitive no; any other error (unreachable, 5xx, a page instead of JSON) is no answer. */
export async function requestTokens(
  grant: Grant,
  place: AuthorizationPlace,
  client: StoredClient,
  settings: AuthSettings,
  nowMs: number,
  fetchFn: FetchLike,
): Promise<Granted> {
  const form = grantForm(grant);
  if (place.resource !== undefined) form.set('resource', place.resource);
  const headers = new Headers({
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  });
  await prove(client, settings, place, headers, form);
  const init = { method: 'POST', headers, body: form.toString() };
  const { status, json, text } = await ask(fetchFn, place.endpoints.token, init);
  // Some servers send errors with 200.
  const refusal = status < 500 ? refusalIn(json) : undefined;
  if (refusal !== undefined) throw refusal;
  const parsed = OAuthTokensSchema.safeParse(json);
  if (status < 200 || status > 299 || !parsed.success) {
    throw new Error(`the token endpoint answered ${status} with no token: ${excerpt(text)}`);
  }
  const { access_token, refresh_token, expires_in, scope } = parsed.data;
  const tokens: StoredTokens = { accessToken: access_token };
  // Servers that do not rotate leave it out; the old one stays good.
  const refreshToken = refresh_token ?? (grant.type === 'refresh_token' ? grant.refreshToken : undefined);
  if (refreshToken !== undefined) tokens.refreshToken = refreshToken;
  if (expires_in !== undefined) tokens.expiresAtMs = nowMs + usableMs(expires_in * 1000);
  return { tokens, scopes: scope === undefined ? undefined : words(scope) };
}

/** A short-lived token keeps most of its life, else every call would renew it. */
function usableMs(lifeMs: number): number {
  return lifeMs - Math.min(authDefaults.expirySkewMs, lifeMs / 10);
}

function grantForm(grant: Grant): URLSearchParams {
  switch (grant.type) {
    case 'authorization_code':
      return new URLSearchParams({
        grant_type: grant.type,
        code: grant.code,
        code_verifier: grant.verifier,
        redirect_uri: grant.redirectUri,
      });
    case 'refresh_token':
      return new URLSearchParams({ grant_type: grant.type, refresh_token: grant.refreshToken });
    case 'client_credentials': {
      const form = new URLSearchParams({ grant_type: grant.type });
      if (grant.scopes.length > 0) form.set('scope', grant.scopes.join(' '));
      return form;
    }
  }
}

async function prove(
  client: StoredClient,
  settings: AuthSettings,
  place: AuthorizationPlace,
  headers: Headers,
  form: URLSearchParams,
): Promise<void> {
  if (settings.privateKey !== undefined) {
    const { createPrivateKeyJwtAuth } = await import('@modelcontextprotocol/sdk/client/auth-extensions.js');
    const sign = createPrivateKeyJwtAuth({
      issuer: client.clientId,
      subject: client.clientId,
      privateKey: settings.privateKey,
      alg: settings.signingAlgorithm ?? 'ES256',
    });
    return sign(headers, form, place.endpoints.token, place.metadata);
  }
  const information = {
    client_id: client.clientId,
    ...(client.clientSecret !== undefined && { client_secret: client.clientSecret }),
    ...(client.authMethod !== undefined && { token_endpoint_auth_method: client.authMethod }),
  };
  const supported = place.metadata?.token_endpoint_auth_methods_supported ?? [];
  const method = selectClientAuthMethod(information, supported);
  if (method === 'client_secret_basic' && client.clientSecret !== undefined) {
    const pair = `${formEncoded(client.clientId)}:${formEncoded(client.clientSecret)}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    return;
  }
  form.set('client_id', client.clientId);
  if (method === 'client_secret_post' && client.clientSecret !== undefined) {
    form.set('client_secret', client.clientSecret);
  }
}

function refusalIn(json: unknown): TokenRefusal | undefined {
  if (typeof json !== 'object' || json === null || !('error' in json) || typeof json.error !== 'string') {
    return undefined;
  }
  const described = 'error_description' in json && typeof json.error_description === 'string';
  return new TokenRefusal(json.error, described ? excerpt(String(json.error_description)) : '');
}

/** RFC 6749 section 2.3.1: both halves are form-encoded before they are joined. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
