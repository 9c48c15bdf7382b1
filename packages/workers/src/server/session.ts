/**
 * The port of a session: what the server thread needs of either era of the protocol. `session-legacy.ts` speaks
 * `initialize` (2024-11-05 … 2025-11-25), `session-modern.ts` speaks 2026-07-28. No SDK type or error crosses it.
 */
import type { ServerCatalog, ServerEvent } from '../protocol.js';

export interface Session {
  /** The server's tool list changed. */
  onToolsChanged: (() => void) | undefined;
  /** Anything else that the server tells unasked. */
  onEvent: ((event: ServerEvent) => void) | undefined;
  /** What the server asks of the client by a request of its own. */
  onAsk:
    | ((
        method: string,
        params: Record<string, unknown>,
        signal: AbortSignal,
      ) => Promise<Record<string, unknown>>)
    | undefined;
  /** How the lane's frames differ in this era; absent: they do not. */
  readonly dialect?: Dialect;
  /**
   * Handshake and first tool list.
   * @throws {BulkheadError} `START_TIMEOUT`, `START_FAILED` (with `data.kind`).
   */
  open(timeoutMs: number): Promise<ServerCatalog>;
  readCatalog(timeoutMs: number): Promise<ServerCatalog>;
  /** Any well-formed reply, even an error, is life. @throws {BulkheadError} when none came in time. */
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** What the stateless era asks of every frame of the lane. */
export interface Dialect {
  /** Members of `_meta` for the next request, as JSON text without braces. */
  meta(): string;
  /** Requests of the server that somebody answers; only these may come back in an `input_required` result. */
  readonly answers: ReadonlySet<string>;
  /**
   * Answers a request of the older era that has no counterpart on the wire (subscriptions, the log level); undefined
   * when the server must answer it.
   */
  absorb(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> | undefined;
}

/** Sends a notification of the server where it belongs, whether or not the server declared it. */
export function tellSession(
  session: Pick<Session, 'onToolsChanged' | 'onEvent'>,
  method: string,
  params: Record<string, unknown>,
): void {
  switch (method) {
    case 'notifications/tools/list_changed':
      session.onToolsChanged?.();
      return;
    case 'notifications/resources/list_changed':
      session.onEvent?.({ name: 'resources', params });
      return;
    case 'notifications/prompts/list_changed':
      session.onEvent?.({ name: 'prompts', params });
      return;
    case 'notifications/resources/updated':
      session.onEvent?.({ name: 'resource', params });
      return;
    case 'notifications/message':
      session.onEvent?.({ name: 'log', params });
      return;
    default:
  }
}
