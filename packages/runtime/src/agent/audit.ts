/**
 * A PostToolUse hook that writes one JSON line per call: who called what, with which arguments (their hash, or a copy
 * without secrets), how it ended. A disk that fails costs lines, counted and said once, and never a call.
 */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { createStream, type RotatingFileStream } from 'rotating-file-stream';
import { isRecord } from '../content.js';
import type { PostToolUseInput } from './hooks/event.js';
import type { PostToolUseHook } from './hooks/function-hook.js';
import type { ToolMatch } from './hooks/matcher.js';

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

/** Bytes that may wait for a slow disk. */
const BACKLOG_MAX_BYTES = 4 * 1024 * 1024;
/** After an error of the disk, when to try again. */
const RETRY_MS = 5_000;

/** Give it to `createHooks({functions: [auditHook({file})]})`; closing the hooks closes the file. */
export function auditHook(options: AuditOptions): PostToolUseHook {
  const { args = 'hash' } = options;
  let report = (_message: string): void => {};
  const file = new AuditFile(resolve(options.file), options.maxBytes ?? 16 * 1024 * 1024, (message) =>
    report(message),
  );
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

/** SHA-256 (hex) of the JSON text with the keys of every object sorted: the order in which a model wrote them is chance. */
export function argumentsHash(args: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(JSON.stringify(args, sortedKeys)).digest('hex');
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const SECRET =
  /pass(word|phrase|wd)?|secret|token|api[-_]?key|auth|credential|cookie|private[-_]?key|session/i;
const TEXT_MAX_LENGTH = 200;
const ITEMS_MAX = 50;
const DEPTH_MAX = 6;

/** A copy fit for a log. Keys decide, not values: a secret under a harmless name stays. */
export function redacted(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    const left = value.length - TEXT_MAX_LENGTH;
    return left <= 0 ? value : `${value.slice(0, TEXT_MAX_LENGTH).toWellFormed()}[… ${left} more]`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === DEPTH_MAX) return '[deeper values left out]';
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((item) => redacted(item, depth + 1));
    return value.length <= ITEMS_MAX ? items : [...items, `[… ${value.length - ITEMS_MAX} more]`];
  }
  const members = Object.entries(value);
  const shown = members
    .slice(0, ITEMS_MAX)
    .map(([key, member]) => [key, SECRET.test(key) ? '[redacted]' : redacted(member, depth + 1)]);
  if (members.length > ITEMS_MAX) shown.push(['…', `[${members.length - ITEMS_MAX} more]`]);
  return Object.fromEntries(shown);
}

/** The file behind the hook: append only, 0600, one older file beside it. */
class AuditFile {
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #warn: (message: string) => void;
  #stream: RotatingFileStream | undefined;
  #retryAt = 0;
  #warned = false;
  #lost = 0;

  constructor(file: string, maxBytes: number, warn: (message: string) => void) {
    this.#file = file;
    this.#maxBytes = Math.max(1_024, maxBytes);
    this.#warn = warn;
  }

  write(line: string): void {
    const stream = this.#open();
    if (stream === undefined || stream.writableLength > BACKLOG_MAX_BYTES) {
      this.#lose('the disk is slower than the calls');
      return;
    }
    stream.write(line, (error) => {
      if (error !== null && error !== undefined) this.#lose(error.message);
    });
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream !== undefined) {
      await new Promise<void>((resolve) => {
        stream.once('close', () => resolve());
        stream.end(() => stream.destroy());
      });
    }
    if (this.#lost > 0) this.#warn(`${this.#lost} lines were lost for ${this.#file}`);
  }

  #open(): RotatingFileStream | undefined {
    if (this.#stream !== undefined || performance.now() < this.#retryAt) return this.#stream;
    const directory = dirname(this.#file);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      this.#retryAt = performance.now() + RETRY_MS;
      this.#say(messageOf(error));
      return undefined;
    }
    const stream = createStream(basename(this.#file), {
      path: directory,
      size: `${this.#maxBytes}B`,
      rotate: 1,
      mode: 0o600,
    });
    stream.on('open', () => this.#restrict());
    stream.on('error', (error) => {
      // The stream is over after an error; a disk that was full may have room again.
      if (this.#stream === stream) this.#stream = undefined;
      this.#retryAt = performance.now() + RETRY_MS;
      this.#say(error.message);
    });
    stream.on('warning', (error) => this.#say(error.message));
    this.#stream = stream;
    return stream;
  }

  /** A file that was there before may be open to others. */
  #restrict(): void {
    try {
      chmodSync(this.#file, 0o600);
    } catch (error) {
      this.#say(messageOf(error));
    }
  }

  #lose(why: string): void {
    this.#lost++;
    this.#say(why);
  }

  #say(why: string): void {
    if (this.#warned) return;
    this.#warned = true;
    const next = 'calls go on without their lines; free or mend the disk';
    this.#warn(`${this.#file} cannot be written (${why}): ${next}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
