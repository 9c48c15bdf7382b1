/**
 * As which client we speak to an authorization server, in this order: the entry's own, the one registered earlier, a
 * client metadata document, dynamic registration as a public client. Source: MCP 2025-11-25 "Client Registration
 * Approaches"; RFC 7591.
 */
import { OAuthClientInformationFullSchema } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { authRefused, authUnavailable } from './auth-failure.js';
import { ask, excerpt } from './auth-request.js';
import type { AuthorizationPlace } from './discovery.js';
import type { AuthSettings } from './settings.js';
import type { AuthRecord, StoredClient } from './token-store.js';

/** The client of the entry, or undefined when it names none. */
export function configuredClient(settings: AuthSettings): StoredClient | undefined {
  if (settings.clientId === undefined) return undefined;
  return {
    clientId: settings.clientId,
    ...(settings.clientSecret !== undefined && { clientSecret: settings.clientSecret }),
  };
}

/** @throws {BulkheadError} when a secret would go to another authorization server than before or configured. */
export function guardIssuer(
  server: string,
  place: AuthorizationPlace,
  settings: AuthSettings,
  record: AuthRecord | undefined,
): void {
  const ownCredentials = settings.clientSecret !== undefined || settings.privateKey !== undefined;
  const expected = settings.issuer ?? (ownCredentials ? record?.issuer : undefined);
  if (expected === undefined || expected.replace(/\/$/, '') === place.issuer.replace(/\/$/, '')) return;
  const why = `now names the authorization server ${place.issuer}, but its credentials belong to ${expected}`;
  const hint = `If that is right, run "bulkhead logout ${server}" and set "auth.issuer".`;
  throw authRefused(server, why, hint);
}

/** @param earlier The stored client when it belongs to this authorization server. */
export async function clientFor(
  server: string,
  place: AuthorizationPlace,
  settings: AuthSettings,
  earlier: StoredClient | undefined,
  redirectUri: string,
  scopes: readonly string[],
  fetchFn: FetchLike,
): Promise<StoredClient> {
  const own = configuredClient(settings);
  if (own !== undefined) return own;
  if (
    settings.clientMetadataUrl !== undefined &&
    place.metadata?.client_id_metadata_document_supported === true
  ) {
    return { clientId: settings.clientMetadataUrl };
  }
  if (earlier !== undefined && earlier.redirectUri === redirectUri) return earlier;
  return register(server, place, redirectUri, scopes, fetchFn);
}

async function register(
  server: string,
  place: AuthorizationPlace,
  redirectUri: string,
  scopes: readonly string[],
  fetchFn: FetchLike,
): Promise<StoredClient> {
  const { registration } = place.endpoints;
  if (registration === undefined) {
    const why = `has an authorization server (${place.issuer}) that does not register clients by itself`;
    throw authRefused(server, why, 'Register one there and set "auth.clientId" (and "auth.clientSecret").');
  }
  const body = {
    client_name: 'Bulkhead',
    // What allows a redirect to 127.0.0.1.
    application_type: 'native',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: registrationMethod(place),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const answer = await ask(fetchFn, registration, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  }).catch((cause: unknown) => {
    throw authUnavailable(server, `cannot be signed in to: ${registration} does not answer`, cause);
  });
  const parsed = OAuthClientInformationFullSchema.partial({ redirect_uris: true }).safeParse(answer.json);
  if (answer.status < 200 || answer.status > 299 || !parsed.success) {
    const why = `could not register a client (${registration} answered ${answer.status}: ${excerpt(answer.text)})`;
    if (answer.status >= 500) throw authUnavailable(server, why);
    throw authRefused(server, why, 'Register one by hand and set "auth.clientId".');
  }
  const { client_id, client_secret, token_endpoint_auth_method } = parsed.data;
  const client: StoredClient = { clientId: client_id, redirectUri };
  if (client_secret !== undefined) client.clientSecret = client_secret;
  if (token_endpoint_auth_method !== undefined) client.authMethod = token_endpoint_auth_method;
  return client;
}

/** A program on somebody's machine keeps no secret: `none` (with PKCE), unless the server takes only secrets. */
function registrationMethod({ metadata }: AuthorizationPlace): string {
  const supported = metadata?.token_endpoint_auth_methods_supported ?? [];
  if (supported.length === 0 || supported.includes('none')) return 'none';
  return ['client_secret_basic', 'client_secret_post'].find((method) => supported.includes(method)) ?? 'none';
}
