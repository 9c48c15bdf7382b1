/**
 * One sign-in of a person: listener, browser, code, token. Nothing is stored here, and the URL goes to nobody but the
 * function that opens it. Source: OAuth 2.1 section 4.1, RFC 7636 (PKCE), RFC 8252 (loopback), RFC 9207 (`iss`).
 */
import { randomBytes } from 'node:crypto';
import { startAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { BulkheadError } from '../../errors.js';
import { authRefused } from './auth-failure.js';
import { clientFor } from './client-identity.js';
import type { AuthorizationPlace } from './discovery.js';
import { listenForRedirect, type RedirectAnswer } from './redirect-listener.js';
import { type AuthSettings, authDefaults } from './settings.js';
import { type Granted, requestTokens } from './token-request.js';
import type { StoredClient } from './token-store.js';

/** Shows a URL to a person: opens a browser, or prints it. */
export type OpenUrl = (url: string) => void | Promise<void>;

export interface SignInOptions {
  server: string;
  place: AuthorizationPlace;
  settings: AuthSettings;
  earlierClient: StoredClient | undefined;
  scopes: readonly string[];
  open: OpenUrl;
  now: () => number;
  fetch: FetchLike;
}

/** @throws {BulkheadError} `START_FAILED`, `data.kind: 'auth'` or `'auth-unavailable'`. */
export async function signIn(options: SignInOptions): Promise<Granted & { client: StoredClient }> {
  const { server, place, settings, scopes } = options;
  const state = randomBytes(32).toString('base64url');
  const { loginTimeoutMs } = authDefaults;
  const listener = await listenForRedirect(state, ports(settings, options.earlierClient), loginTimeoutMs);
  try {
    const { redirectUri } = listener;
    const earlier = options.earlierClient;
    const client = await clientFor(server, place, settings, earlier, redirectUri, scopes, options.fetch);
    const { authorizationUrl, codeVerifier } = await startAuthorization(place.issuer, {
      ...(place.metadata !== undefined && { metadata: place.metadata }),
      clientInformation: { client_id: client.clientId },
      redirectUrl: redirectUri,
      state,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(place.resource !== undefined && { resource: place.resource }),
    });
    await options.open(authorizationUrl.href);
    const answer = await listener.answer;
    checkSender(server, place, answer);
    const grant = {
      type: 'authorization_code',
      code: answer.code,
      verifier: codeVerifier,
      redirectUri,
    } as const;
    const granted = await requestTokens(grant, place, client, settings, options.now(), options.fetch);
    return { ...granted, client };
  } catch (error) {
    if (error instanceof BulkheadError) throw error;
    const what = error instanceof Error ? error.message : String(error);
    throw authRefused(server, `could not be signed in to: ${what}`, 'Start the sign-in again.', error);
  } finally {
    await listener.close();
  }
}

/** The fixed port alone, or the port the client was registered with, then any. */
function ports(settings: AuthSettings, client: StoredClient | undefined): number[] {
  if (settings.redirectPort !== undefined) return [settings.redirectPort];
  const earlier = client?.redirectUri === undefined ? '' : new URL(client.redirectUri).port;
  return earlier === '' ? [0] : [Number(earlier), 0];
}

/** RFC 9207: compared as text, without any normalisation, and before the code goes anywhere. */
function checkSender(server: string, place: AuthorizationPlace, { iss }: RedirectAnswer): void {
  const expected = place.metadata?.issuer;
  const said: Record<string, unknown> = place.metadata ?? {};
  const promised = said.authorization_response_iss_parameter_supported === true;
  if (iss === undefined ? !promised : iss === expected || expected === undefined) return;
  const why = `got an answer from ${iss ?? 'an unnamed authorization server'} instead of ${expected}`;
  throw authRefused(server, why, 'The code was not used. Start the sign-in again.');
}
