/**
 * From a server's URL to the authorization server it trusts. Every candidate is tried to the end: a 4xx or a 200 that
 * is no metadata (content networks answer 401, 403 or a page) only means "not here".
 * Source: MCP 2025-11-25, authorization; RFC 9728, RFC 8414, OpenID Connect Discovery 1.0.
 */
import { buildDiscoveryUrls } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  type AuthorizationServerMetadata,
  OAuthMetadataSchema,
  type OAuthProtectedResourceMetadata,
  OAuthProtectedResourceMetadataSchema,
  OpenIdProviderDiscoveryMetadataSchema,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { authRefused, authUnavailable } from './auth-failure.js';
import { type Answer, ask, isTrustworthy } from './auth-request.js';
import { resourceCovers, sameIssuer } from './resource.js';

export interface AuthorizationPlace {
  /** Credentials are bound to this text. */
  issuer: string;
  /** Undefined for servers of 2025-03-26 that have the endpoints at the usual places and no metadata. */
  metadata: AuthorizationServerMetadata | undefined;
  /** What to send as `resource`, exactly as advertised; undefined without resource metadata. */
  resource: string | undefined;
  resourceScopes: string[];
  endpoints: { authorization: string; token: string; registration: string | undefined };
}

/** @throws {BulkheadError} `kind: 'auth'` for metadata that contradicts the server, `'auth-unavailable'` otherwise. */
export async function discover(
  server: string,
  serverUrl: string,
  advertised: string | undefined,
  fetchFn: FetchLike,
): Promise<AuthorizationPlace> {
  const resource = await protectedResource(server, serverUrl, advertised, fetchFn);
  if (resource !== undefined && !resourceCovers(resource.resource, serverUrl)) {
    const why = `is reached at ${serverUrl}, but its metadata is for ${resource.resource}`;
    throw authRefused(server, why, 'No token is asked for. Correct "url", or tell who runs the server.');
  }
  const named = resource?.authorization_servers?.[0];
  const issuer = named ?? new URL('/', serverUrl).href;
  const metadata = await authorizationServer(server, issuer, fetchFn);
  if (metadata !== undefined && named !== undefined && !sameIssuer(metadata.issuer, issuer)) {
    const why = `trusts ${issuer}, whose metadata claims to be ${metadata.issuer}`;
    throw authRefused(server, why, 'No credentials are sent there. Tell who runs the authorization server.');
  }
  const endpoints = {
    authorization: metadata?.authorization_endpoint ?? new URL('/authorize', issuer).href,
    token: metadata?.token_endpoint ?? new URL('/token', issuer).href,
    registration: metadata === undefined ? new URL('/register', issuer).href : metadata.registration_endpoint,
  };
  for (const [name, url] of Object.entries(endpoints)) {
    if (url !== undefined && !isTrustworthy(url, serverUrl)) {
      const why = `has an authorization server whose ${name} endpoint is not https`;
      throw authRefused(server, why, 'No credentials are sent there.');
    }
  }
  return {
    issuer,
    metadata,
    resource: resource?.resource,
    resourceScopes: resource?.scopes_supported ?? [],
    endpoints,
  };
}

async function protectedResource(
  server: string,
  serverUrl: string,
  advertised: string | undefined,
  fetchFn: FetchLike,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  const { pathname, search, origin } = new URL(serverUrl);
  const path = pathname.replace(/\/$/, '');
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const candidates = new Set(
    [advertised, `${root}${path}${search}`, root].filter((url) => url !== undefined),
  );
  return firstMetadata(server, candidates, fetchFn, (_, json) => {
    const parsed = OAuthProtectedResourceMetadataSchema.safeParse(json);
    return parsed.success ? parsed.data : undefined;
  });
}

async function authorizationServer(
  server: string,
  issuer: string,
  fetchFn: FetchLike,
): Promise<AuthorizationServerMetadata | undefined> {
  const types = new Map(buildDiscoveryUrls(issuer).map(({ url, type }) => [url.href, type]));
  return firstMetadata<AuthorizationServerMetadata>(server, types.keys(), fetchFn, (url, json) => {
    const schema = types.get(url) === 'oidc' ? OpenIdProviderDiscoveryMetadataSchema : OAuthMetadataSchema;
    const parsed = schema.safeParse(json);
    return parsed.success ? parsed.data : undefined;
  });
}

/** The first that parses. One that cannot be read now must not make another server the trusted one. */
async function firstMetadata<T>(
  server: string,
  candidates: Iterable<string>,
  fetchFn: FetchLike,
  read: (url: string, json: unknown) => T | undefined,
): Promise<T | undefined> {
  let trouble: { url: string; what: string; cause?: unknown } | undefined;
  for (const url of candidates) {
    let answer: Answer;
    try {
      answer = await ask(fetchFn, url, { headers: { accept: 'application/json' } });
    } catch (cause) {
      trouble ??= { url, what: cause instanceof Error ? cause.message : String(cause), cause };
      continue;
    }
    const found = answer.status === 200 ? read(url, answer.json) : undefined;
    if (found !== undefined) return found;
    if (answer.status >= 500) trouble ??= { url, what: `it answered ${answer.status}` };
  }
  if (trouble === undefined) return undefined;
  throw authUnavailable(server, `cannot be signed in to: ${trouble.url}: ${trouble.what}`, trouble.cause);
}
