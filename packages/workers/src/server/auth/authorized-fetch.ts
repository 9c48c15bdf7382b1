/**
 * The `fetch` of a remote server's transport: adds the token, and answers 401 and 403 `insufficient_scope` with another
 * one before the transport sees them. It needs nothing of the SDK's own auth hooks, so POST, GET and DELETE of both
 * eras share it.
 */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { headerRefused, needsLogin } from './auth-failure.js';
import { boundedText, excerpt } from './auth-request.js';
import type { Authorizer } from './authorizer.js';
import { bearerChallenge } from './challenge.js';
import { authDefaults } from './settings.js';

/** A request is sent at most this often with different tokens. */
const MAX_ATTEMPTS = 3;

/** What a refusal is judged by, whatever sent the request. */
export interface AuthAnswer {
  status: number;
  /** The `WWW-Authenticate` header. */
  challenge: string | null;
}

/**
 * Sends a request until its token is taken, at most three times.
 * @param send Sends it once with this token; the body must be repeatable.
 * @param judge What the answer says about the token.
 * @param discard Frees the connection of an answer that nobody will read.
 * @throws {BulkheadError} instead of an answer that only a person or a change could mend.
 */
export async function sendAuthorized<T>(
  authorizer: Authorizer,
  send: (token: string | undefined) => Promise<T>,
  judge: (answer: T) => AuthAnswer,
  discard: (answer: T) => void | Promise<void>,
): Promise<T> {
  let token = await authorizer.token();
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send(token);
    const { status, challenge: header } = judge(answer);
    const challenge = status === 401 || status === 403 ? bearerChallenge(header) : undefined;
    const stepUp = status === 403 && challenge?.error === 'insufficient_scope' ? challenge : undefined;
    if (status !== 401 && stepUp === undefined) return answer;
    await discard(answer);
    if (attempt === MAX_ATTEMPTS) {
      throw needsLogin(authorizer.server, `it refuses every token (last answer ${status})`);
    }
    token =
      stepUp === undefined
        ? await authorizer.renew(token, challenge)
        : await authorizer.stepUp(token, stepUp);
  }
}

/** {@link sendAuthorized} as a `fetch`. @param base What sends the requests, default the global `fetch`. */
export function authorizedFetch(authorizer: Authorizer, base: FetchLike = fetch): FetchLike {
  return async (url, init) => {
    // Tokens go to the server they were made for, and nowhere a redirect leads.
    if (!sameServer(url, authorizer.serverUrl)) return base(url, init);
    return sendAuthorized(
      authorizer,
      (token) => base(url, withToken(init, token)),
      (response) => ({ status: response.status, challenge: response.headers.get('www-authenticate') }),
      (response) => response.body?.cancel(),
    );
  };
}

/**
 * The `fetch` of a server with a configured `Authorization` header: a refusal is told as what it is, and nobody is
 * registered or asked to sign in. The header's value is cut out of the body, should the server echo it.
 */
export function fetchWithFixedHeader(
  server: string,
  [name, value]: readonly [string, string],
  base: FetchLike = fetch,
): FetchLike {
  return async (url, init) => {
    const response = await base(url, init);
    if (response.status !== 401 && response.status !== 403) return response;
    const body = await boundedText(response, authDefaults.maxAnswerBytes).catch(() => '');
    throw headerRefused(server, response.status, name, excerpt(withoutSecrets(body, value)));
  };
}

function withoutSecrets(text: string, value: string): string {
  // "Bearer abc": the word says nothing, the rest is the secret. The longest first, so that no part of it is left.
  const secrets = [value, ...value.split(/\s+/).slice(1)].filter((secret) => secret.length > 3);
  return secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text);
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  const headers = new Headers(init?.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}

/** The same origin, or its https form: only there a token may go. */
export function sameServer(url: string | URL, serverUrl: string): boolean {
  const [to, server] = [new URL(url), new URL(serverUrl)];
  return (
    to.origin === server.origin ||
    (to.protocol === 'https:' && to.hostname === server.hostname && to.port === server.port)
  );
}
