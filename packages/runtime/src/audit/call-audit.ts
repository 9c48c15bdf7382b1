/**
 * The audit of a runtime: one JSON line for every call, whichever way it was made and however it ended, with who made
 * it. Arguments stand there as their hash unless more is asked for.
 */
import { userInfo } from 'node:os';
import type { ErrorCode, Outcome } from '@bulkhead/workers';
import type { CallRoute } from '../agent/tool.js';
import type { CallAccount } from '../witness.js';
import { argumentsHash, redacted } from './arguments.js';
import { LineFile } from './line-file.js';

/** `RuntimeOptions.audit`. */
export interface CallAuditOptions {
  /** The file, 0600; its directory is made (0700) when missing. Each process needs a file of its own: two would turn one twice. */
  file: string;
  /**
   * What is written of the arguments. `hash`: SHA-256 of their JSON with sorted keys (equal arguments can be recognised;
   * a guess can be confirmed). `redacted`: a bounded copy without the values of secret-looking keys and those of the
   * configuration that are secret. Default `hash`.
   */
  arguments?: 'hash' | 'redacted' | 'none';
  /** Size at which the file becomes `<file>.1`, in bytes. Default 16 MiB, at least 1 KiB. */
  maxBytes?: number;
  /** Older files that are kept, `<file>.1` the youngest. Default 5, at least 1. */
  keep?: number;
  /** Id of the session in every line. Default: that of this runtime, fresh. */
  session?: string;
}

/** One line of the file. */
export interface CallAuditRecord {
  /** ISO 8601, UTC: when the call ended. */
  time: string;
  /** Of the operating system; its number where it has no name. */
  user: string;
  pid: number;
  /** Thread of the agent that made the call; 0 is the main one. */
  thread: number;
  session: string;
  callId: string;
  route: CallRoute;
  /** Null when the call named no server that there is. */
  server: string | null;
  /** Name on the wire; the method of the protocol for the routes `resource` and `prompt`. */
  tool: string;
  outcome: Outcome;
  /** Of the error, when there was no answer. */
  code?: ErrorCode;
  durationMs: number;
  argsSha256?: string;
  args?: unknown;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const DEFAULT_KEEP = 5;
const UNREADABLE = '[not JSON]';

export interface CallAuditContext {
  /** A text without the secrets of the configuration. */
  mask: (text: string) => string;
  warn: (message: string) => void;
}

export class CallAudit {
  readonly #options: CallAuditOptions;
  readonly #context: CallAuditContext;
  readonly #file: LineFile;
  readonly #who: Pick<CallAuditRecord, 'user' | 'pid' | 'session'>;

  constructor(options: CallAuditOptions, session: string, context: CallAuditContext) {
    this.#options = options;
    this.#context = context;
    this.#who = { user: userName(), pid: process.pid, session: options.session ?? session };
    const { file, maxBytes = DEFAULT_MAX_BYTES, keep = DEFAULT_KEEP } = options;
    this.#file = new LineFile({ file, maxBytes, keep, warn: context.warn });
  }

  readonly witness = (account: CallAccount): void => {
    const { endedAt, durationMs, args, callId, route, server, tool, outcome, code, thread } = account;
    const record: CallAuditRecord = {
      time: new Date(endedAt).toISOString(),
      ...this.#who,
      thread,
      callId,
      route,
      server,
      tool,
      outcome,
      ...(code === undefined ? {} : { code }),
      durationMs: Math.round(durationMs * 1_000) / 1_000,
      ...(args === undefined ? {} : this.#arguments(args)),
    };
    this.#file.write(`${JSON.stringify(record)}\n`);
  };

  close(): Promise<void> {
    return this.#file.close();
  }

  #arguments(text: string): Pick<CallAuditRecord, 'argsSha256' | 'args'> {
    const wanted = this.#options.arguments ?? 'hash';
    if (wanted === 'none') return {};
    let args: Record<string, unknown>;
    try {
      args = JSON.parse(text);
    } catch {
      return { args: UNREADABLE };
    }
    return wanted === 'hash'
      ? { argsSha256: argumentsHash(args) }
      : { args: redacted(args, this.#context.mask) };
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // a container may run under a number that has no entry
    return String(process.getuid?.() ?? 'unknown');
  }
}
