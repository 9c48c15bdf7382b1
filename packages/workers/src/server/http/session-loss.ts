/**
 * How servers say that they no longer know a session: by 404 as specified, by 400, or by a JSON-RPC error. Pure.
 * Asked only about requests that carried a session id; what is said in words is believed once per request.
 */

const LOST =
  /\bsession\b.{0,40}\b(?:not found|not exist|does not exist|expired|invalid|unknown|closed|terminated|no longer)\b|\b(?:no valid|no such|invalid|unknown|expired|missing|unrecognized)\b.{0,20}\bsession\b/is;
/** Codes of errors that the protocol layer of a server gives; a tool's own errors have others. */
const CODES: ReadonlySet<unknown> = new Set([-32000, -32001, -32600]);

/** By status and body. 401 and 403 never: those are about who asks, whatever their text says. */
export function statusTellsLoss(status: number, body: string): boolean {
  return status === 404 || (status === 400 && LOST.test(body));
}

/** By what an error says that names no request. */
export function textTellsLoss(text: string): boolean {
  return LOST.test(text);
}

/** By the `error` member of a JSON-RPC answer inside a 2xx. */
export function errorTellsLoss(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message } = error as Record<string, unknown>;
  return CODES.has(code) && typeof message === 'string' && LOST.test(message);
}
