/**
 * What crosses the control socket: the version of the language, its headers, and the shape of every answer. Requests
 * stand in `requests.ts`, with their checks; a client loads only this file.
 */
import type { Reason, ServerState, WireError } from '@bulkhead/workers';
import type { RuntimeStatus } from '../api.js';

/** Raised when an older peer would misunderstand; another number is never guessed at. */
export const CONTROL_PROTOCOL = 1;

/** Names of the headers. */
export const controlHeader = {
  /** Of every request and every answer: {@link CONTROL_PROTOCOL}. */
  protocol: 'bulkhead-protocol',
  /** The caller expects the servers of this configuration (see `config-mark.ts`), else the request is refused. */
  config: 'bulkhead-config',
  /** `1`: the caller would run servers of the project's own files without a stored approval. */
  trust: 'bulkhead-trust',
} as const;

/** `data.kind` of the errors by which a client knows that another runtime is the right one. */
export const mismatch = { config: 'config-mismatch', protocol: 'protocol-mismatch' } as const;

/** `GET /v1/health`. */
export interface Health {
  name: string;
  pid: number;
  protocol: number;
  /** Directory of the project; absent for a program that has none. */
  project?: string;
  /** ISO 8601. */
  startedAt: string;
  uptimeMs: number;
  ready: number;
  /** Servers that are not disabled. */
  total: number;
}

/** One server of `GET /v1/status`. */
export type ServerRow = RuntimeStatus['servers'][number] & {
  /** Which kind of file its entry came from. */
  scope?: string;
  era?: 'legacy' | 'modern';
  /** Resident memory of its process. */
  rssBytes?: number;
  lazy?: boolean;
  /** With `?tools=1`: raw names, and what the server says of them. */
  toolList?: { name: string; readOnly: boolean }[];
};

/** `GET /v1/status`. */
export interface StatusReport {
  health: Health;
  servers: ServerRow[];
  /** Findings about the configuration, as sentences. */
  problems: string[];
  /** Why the last reload was not taken; absent when it was. */
  reloadFailure?: string;
}

/** `POST /v1/find`: the tool that a command line names. */
export interface FoundTool {
  server: string;
  name: string;
  fullName: string;
  inputSchema: Record<string, unknown>;
  /** What a command says about the configuration before it does anything, as sentences. */
  findings: string[];
}

/**
 * `POST /v1/call`, for a call that the server answered; `result` is the exact text and comes last. Whatever else is not
 * `ok` is a {@link ControlFailure}.
 */
export interface CallAnswer {
  outcome: 'ok' | 'tool_error';
  attempts: number;
  timing: { queueMs: number; callMs: number };
  warnings: string[];
  /** Why the arguments could not be checked, when that was asked for. */
  unchecked?: string;
}

/** Every answer that is not 2xx. */
export interface ControlFailure {
  error: WireError;
}

/** `POST /v1/servers/:name/…`: where the server stands afterwards. */
export interface CommandAnswer {
  server: string;
  state: ServerState;
  reason?: Reason;
}

/** One event of `GET /v1/events`; `event` is a name of `RuntimeEvents`, or `dropped` with a `count`. */
export interface ControlEvent {
  /** ISO 8601. */
  at: string;
  event: string;
  data: Record<string, unknown>;
}

/** `POST /v1/offers/:server`: what a server offers besides calls. The answer is that of the same method of `ServerView`. */
export type Offer =
  | { ask: 'resources' | 'templates' | 'prompts' }
  | { ask: 'read'; uri: string }
  | { ask: 'prompt'; prompt: string; args: Record<string, string> };

/** One event of `GET /v1/updates/:server`: a resource was updated. */
export interface ResourceUpdate {
  /** ISO 8601. */
  at: string;
  server: string;
  uri: string;
}

/** What can be asked of one server. */
export const serverCommands = ['start', 'stop', 'restart', 'enable', 'disable', 'drain'] as const;
/** What can be asked of one server. */
export type ServerCommand = (typeof serverCommands)[number];
