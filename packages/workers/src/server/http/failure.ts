/**
 * What can go wrong with one HTTP exchange, as a value: whether the server may have seen the request decides between
 * "never sent" and "outcome unknown". Messages name status, address (without credentials or query) and a short excerpt.
 */
import type { ErrorCode } from '../../outcomes.js';
import { readableLine } from '../noise.js';

export interface Failure {
  /** `Reason.kind` when it ends the connection: `http`, `network`, `auth`, `config`, `session` … */
  kind: string;
  code: ErrorCode;
  message: string;
  data: Record<string, unknown>;
}

/** A failure on its way up; it never leaves this directory. */
export class HttpFailure extends Error {
  readonly failure: Failure;
  /** What a refusal said, uncut: it may be evidence of the server's era. */
  readonly body: string | undefined;
  constructor(failure: Failure, cause?: unknown, body?: string) {
    super(failure.message, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.body = body;
  }
}

/** Errors after which the request certainly did not reach the server. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const CONFIG: ReadonlySet<string> = new Set(['UND_ERR_INVALID_ARG', 'ERR_INVALID_URL', 'ERR_INVALID_CHAR']);
const EXCERPT = 300;

/** Address for people: no credentials, no query. */
export function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** Text of a foreign body that is safe in a log; `secrets` (values of configured headers) are blanked out. */
export function excerpt(body: Buffer, secrets: readonly string[]): string {
  let text = readableLine(body);
  for (const secret of secrets) if (secret.length >= 6) text = text.replaceAll(secret, '***');
  return text.length > EXCERPT ? `${text.slice(0, EXCERPT - 1)}…` : text;
}

/** A status that is no success. A 5xx may have been said after the work was done. */
export function statusFailure(method: string, url: URL, status: number, body: string): Failure {
  const said = body === '' ? '' : `: ${body}`;
  const auth = status === 401 || status === 403;
  const next = auth ? '; check the credentials in "headers" of this server' : '';
  return {
    kind: auth ? 'auth' : 'http',
    code: auth ? 'DENIED' : status >= 500 ? 'OUTCOME_UNKNOWN' : 'PROTOCOL_ERROR',
    message: `HTTP ${status} to ${method} ${shownUrl(url)}${said}${next}`,
    data: { status, url: shownUrl(url), ...(body === '' ? {} : { body }) },
  };
}

/** An error of the network: `sent` false when it is known that no byte of the request arrived. */
export function networkFailure(method: string, url: URL, error: unknown): Failure {
  const code = errorCode(error);
  const text = deepest(error);
  const where = `${method} ${shownUrl(url)}`;
  if (CONFIG.has(code)) {
    return { kind: 'config', code: 'BAD_CONFIG', message: `${where} cannot be sent: ${text}`, data: {} };
  }
  const sent = !NEVER_SENT.has(code) && !code.startsWith('ERR_TLS') && !code.includes('CERT');
  const what = text === '' || text.includes(code) ? code : `${text} (${code})`;
  return {
    kind: 'network',
    code: sent ? 'OUTCOME_UNKNOWN' : 'CONNECTION_LOST',
    message: sent
      ? `${where}: the connection broke before the answer was complete: ${what}; the server may have done the work`
      : `${where}: no connection to the server: ${what}`,
    data: { url: shownUrl(url), errno: code },
  };
}

function errorCode(error: unknown): string {
  const { code, errors, cause } = (error ?? {}) as { code?: unknown; errors?: unknown[]; cause?: unknown };
  if (typeof code === 'string') return code;
  if (Array.isArray(errors) && errors.length > 0) return errorCode(errors[0]);
  return cause === undefined ? 'unknown' : errorCode(cause); // fetch hides it there
}

/** `fetch failed` says nothing; what it wraps does. */
function deepest(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? deepest(error.cause) : error.message;
}
