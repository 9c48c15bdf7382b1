/** One call from `callTool()` to its one end. Settles once; whatever comes later is dropped. */
import {
  BulkheadError,
  type BulkheadErrorInit,
  type ErrorCode,
  MAX_TIMER_MS,
  now,
  type Outcome,
} from '@bulkhead/workers';
import { AbortGroup, type AbortMember } from './abort-group.js';
import type { CallOptions, RawArguments, ToolResult } from './api.js';

/** One for all calls, until each has its own. */
const NOT_YET = () => {};

/** Whoever watches calls from outside: telemetry. */
export interface CallWatch {
  /** Told once of every call that it watches. `error` is what the call ended with when it did not end with a result. */
  ended(call: PendingCall, outcome: Outcome, at: number, error: BulkheadError | undefined): void;
}

export class PendingCall implements AbortMember {
  readonly server: string;
  /** A tool's raw name, or the method of another request. */
  readonly tool: string;
  readonly kind: 'call' | 'request';
  /** JSON text without newlines: it goes into the frame as it is. */
  args: string;
  readonly idleMs: number;
  readonly maxMs: number;
  readonly startedAt: number;
  /** What the caller said beside the arguments, if anything. */
  readonly options: CallOptions | undefined;
  readonly promise: Promise<ToolResult>;
  /** Last progress; 0 before the first. */
  #heardAt = 0;
  /** How long people were asked meanwhile: deadlines stand still then. */
  #pausedMs = 0;
  /** 0 while it waits in the mailbox. */
  postedAt = 0;
  /** Id on the data port of the moment; 0 while it waits. */
  id = 0;
  attempts = 0;
  done = false;
  /** It was sent to a server that was lost: whatever ends it now, it may have run. */
  mayHaveRun = false;
  /** The person was already sent to the URLs that the server asked for. */
  urlsAsked = false;
  /** Members of the request's `_meta` as JSON text without braces; mostly empty. Of `tools/call` only. */
  meta = '';
  /** Told once, with how it ended. */
  onEnd: ((outcome: Outcome, at: number) => void) | undefined;
  watch: CallWatch | undefined;
  #resolve: (result: ToolResult) => void = NOT_YET;
  #reject: (error: BulkheadError) => void = NOT_YET;
  abortBefore: AbortMember | undefined;
  abortBehind: AbortMember | undefined;
  #aborts: AbortGroup | undefined;
  #cancel: ((call: PendingCall) => void) | undefined;

  constructor(
    server: string,
    tool: string,
    args: string,
    options: CallOptions | undefined,
    defaults: { callTimeoutMs: number; callMaxMs: number },
    kind: 'call' | 'request' = 'call',
  ) {
    this.kind = kind;
    this.server = server;
    this.tool = tool;
    this.args = args;
    this.startedAt = now();
    this.options = options;
    this.idleMs = clampMs(options?.timeoutMs ?? defaults.callTimeoutMs);
    this.maxMs = clampMs(options?.maxMs ?? Math.max(defaults.callMaxMs, this.idleMs));
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Calls `cancel` when the signal aborts before the end. */
  listen(signal: AbortSignal, cancel: (call: PendingCall) => void): void {
    this.#cancel = cancel;
    this.#aborts = AbortGroup.of(signal);
    this.#aborts.add(this);
  }

  aborted(): void {
    this.#cancel?.(this);
  }

  get idempotent(): boolean {
    return this.options?.idempotent === true;
  }

  /** Absolute; moved by progress. */
  get idleAt(): number {
    return (this.#heardAt === 0 ? this.startedAt : this.#heardAt) + this.idleMs + this.#pausedMs;
  }

  /** Absolute; moved only while a person is asked. */
  get hardAt(): number {
    return this.startedAt + this.maxMs + this.#pausedMs;
  }

  /** Progress: the idle limit counts from here. */
  heard(at: number): void {
    this.#heardAt = at - this.#pausedMs;
  }

  postpone(ms: number): void {
    this.#pausedMs += ms;
  }

  get dueAt(): number {
    return Math.min(this.idleAt, this.hardAt);
  }

  succeed(result: ToolResult, at: number): void {
    if (this.#end(result.outcome, at, undefined)) this.#resolve(result);
  }

  fail(error: BulkheadError): void {
    if (this.#end(error.outcome, now(), error)) this.#reject(error);
  }

  /** The error of this call, with its server and tool. */
  error(
    code: ErrorCode,
    what: string,
    data: Record<string, unknown> = {},
    more: Pick<BulkheadErrorInit, 'retryable' | 'cause'> = {},
  ): BulkheadError {
    return new BulkheadError(code, `${this.server}.${this.tool}: ${what}`, {
      server: this.server,
      tool: this.tool,
      data: { ...data, attempts: this.attempts },
      ...more,
    });
  }

  #end(outcome: Outcome, at: number, error: BulkheadError | undefined): boolean {
    if (this.done) return false;
    this.done = true;
    this.onEnd?.(outcome, at);
    this.watch?.ended(this, outcome, at, error);
    this.#aborts?.remove(this);
    return true;
  }
}

/**
 * Arguments as JSON text.
 * @throws {BulkheadError} `INVALID_ARGUMENTS` when they cannot be JSON (a BigInt, a cycle, not an object).
 */
export function argumentsText(
  server: string,
  tool: string,
  args: Record<string, unknown> | RawArguments | undefined,
): string {
  if (args === undefined) return '{}';
  if (args instanceof JsonText) return oneLine(args.json);
  let text: string | undefined;
  try {
    text = JSON.stringify(args);
  } catch (cause) {
    throw new BulkheadError(
      'INVALID_ARGUMENTS',
      `${server}.${tool}: the arguments cannot be written as JSON: ${cause instanceof Error ? cause.message : cause}`,
      { server, tool, cause },
    );
  }
  if (text === undefined || text[0] !== '{') {
    throw new BulkheadError(
      'INVALID_ARGUMENTS',
      `${server}.${tool}: the arguments must be an object, got ${text}`,
      {
        server,
        tool,
      },
    );
  }
  return text;
}

/** JSON text that goes out byte for byte. */
class JsonText implements RawArguments {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** Line breaks stand only between the tokens of valid JSON. */
function oneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/g, ' ') : json;
}

/**
 * Arguments that are JSON text of one object already. Integers above 2^53 keep their digits.
 * @throws {BulkheadError} `INVALID_ARGUMENTS` when the text is not a JSON object.
 */
export function rawArguments(json: string): RawArguments {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new BulkheadError('INVALID_ARGUMENTS', `the arguments are not JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BulkheadError('INVALID_ARGUMENTS', 'the arguments must be a JSON object');
  }
  return trustedRawArguments(json);
}

/** The same for text that was parsed already: nothing is checked again. */
export function trustedRawArguments(json: string): RawArguments {
  return new JsonText(json);
}

function clampMs(ms: number): number {
  return Math.min(Math.max(0, ms), MAX_TIMER_MS);
}
