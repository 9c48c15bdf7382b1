/**
 * A PostToolUse hook that writes one JSON line per call: who called what, with which arguments (their hash, or a copy
 * without secrets), how it ended. It sees the host's own tools too; the runtime's audit sees the calls of every route.
 */
import { argumentsHash, redacted } from '../audit/arguments.js';
import { LineFile } from '../audit/line-file.js';
import type { PostToolUseInput } from './hooks/event.js';
import type { PostToolUseHook } from './hooks/function-hook.js';
import type { ToolMatch } from './hooks/matcher.js';

/** Where the audit is written, and how much of the arguments. */
export interface AuditOptions {
  /** The file; its directory is made (0700) when missing. One process writes to it: two would rotate it twice. */
  file: string;
  /**
   * What is written of the arguments. `hash`: SHA-256 of their JSON with sorted keys (equal arguments can be recognised;
   * a guess can be confirmed). `redacted`: a copy with the values of secret-looking keys left out and long texts cut.
   * Default `hash`.
   */
  args?: 'hash' | 'redacted' | 'none';
  /** Size at which the file becomes `<file>.1`, replacing the one before. Default 16 MiB, at least 1 KiB. */
  maxBytes?: number;
  /** Which calls. Default: all. */
  match?: ToolMatch;
}

/** One line of the file. */
export interface AuditRecord {
  /** ISO 8601, UTC: when the end of the call was written down. */
  time: string;
  session: string;
  callId: string;
  /** Null for the host's own tools. */
  server: string | null;
  /** Name on the wire. */
  tool: string;
  outcome: string;
  /** Of the error, when there was no answer. */
  code?: string;
  durationMs: number;
  argsSha256?: string;
  args?: unknown;
}

/** Give it to `createHooks({functions: [auditHook({file})]})`; closing the hooks closes the file. */
export function auditHook(options: AuditOptions): PostToolUseHook {
  const { args = 'hash' } = options;
  let report = (_message: string): void => {};
  const file = new LineFile({
    file: options.file,
    maxBytes: options.maxBytes ?? 16 * 1024 * 1024,
    keep: 1,
    warn: (message) => report(message),
  });
  return {
    event: 'PostToolUse',
    name: 'audit',
    ...(options.match === undefined ? {} : { match: options.match }),
    attach: (to) => {
      report = to;
    },
    run: (input) => file.write(`${JSON.stringify(recordOf(input, args))}\n`),
    close: () => file.close(),
  };
}

function recordOf(input: PostToolUseInput, args: NonNullable<AuditOptions['args']>): AuditRecord {
  const { session, callId, server, rawTool, result } = input;
  return {
    time: new Date().toISOString(),
    session,
    callId,
    server,
    tool: rawTool,
    outcome: result.outcome,
    ...(result.code === undefined ? {} : { code: result.code }),
    durationMs: Math.round(result.durationMs * 1_000) / 1_000,
    ...(args === 'hash' ? { argsSha256: argumentsHash(input.args) } : {}),
    ...(args === 'redacted' ? { args: redacted(input.args) } : {}),
  };
}
