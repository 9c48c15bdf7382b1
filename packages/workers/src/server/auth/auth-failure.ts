/**
 * How signing in fails, in words for a person and kinds for the supervisor. No message or data holds a token, a secret
 * or an authorization URL. `kind: 'auth'` waits for a person; `kind: 'auth-unavailable'` may pass by itself.
 */
import { BulkheadError, type BulkheadErrorInit } from '../../errors.js';

/** Nobody has signed in, or not any more. The server rests as `needs-auth`. */
export function needsLogin(server: string, why: string): BulkheadError {
  return failure(server, 'auth', `needs a sign-in: ${why}`, `Run "bulkhead login ${server}".`);
}

/** Signing in cannot work before somebody changes something. */
export function authRefused(server: string, why: string, hint: string, cause?: unknown): BulkheadError {
  return failure(server, 'auth', why, hint, cause);
}

/** The authorization server is away or answers nonsense: the credentials are kept and a later try may succeed. */
export function authUnavailable(server: string, why: string, cause?: unknown): BulkheadError {
  const hint = 'The stored credentials are kept; the next start tries again.';
  return failure(server, 'auth-unavailable', why, hint, cause);
}

/** The request needs more permission than the token carries; the session itself goes on. */
export function scopeRefused(server: string, scopes: readonly string[], why: string): BulkheadError {
  const list = scopes.length === 0 ? 'more permission' : `the scopes ${scopes.join(' ')}`;
  const message = `Server "${server}" asks for ${list}: ${why}. Run "bulkhead login ${server}".`;
  return new BulkheadError('DENIED', message, {
    server,
    retryable: false,
    data: { kind: 'scope', scopes: [...scopes] },
  });
}

/** A configured header was refused: OAuth stays out of it. */
export function headerRefused(server: string, status: number, header: string, body: string): BulkheadError {
  const message =
    `Server "${server}" answered ${status} to the configured header "${header}"` +
    `${body === '' ? '' : `: ${body}`}. Check its value; while it is set, OAuth is not used.`;
  return new BulkheadError('START_FAILED', message, {
    server,
    retryable: false,
    data: { kind: 'auth', status, header, body },
  });
}

function failure(server: string, kind: string, why: string, hint: string, cause?: unknown): BulkheadError {
  const init: BulkheadErrorInit = { server, retryable: kind !== 'auth', data: { kind, reason: why } };
  if (cause !== undefined) init.cause = cause;
  return new BulkheadError('START_FAILED', `Server "${server}" ${why}. ${hint}`, init);
}
