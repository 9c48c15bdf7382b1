/** One call from `callTool()` to its one end. Settles once; whatever comes later is dropped. */
import {
  BulkheadError,
  type BulkheadErrorInit,
  type ErrorCode,
  MAX_TIMER_MS,
  now,
  type Outcome,
} from '@bulkhead/workers';
import type { CallOptions, RawArguments, ToolResult } from './api.js';

export class PendingCall {
  readonly server: string;
  /** A tool's raw name, or the method of another request. */
  readonly tool: string;
  readonly kind: 'call' | 'request';
  /** JSON text without newlines: it goes into the frame as it is. */
  readonly args: string;
  readonly idleMs: number;
  /** Absolute; moved only while a person is asked. */
  hardAt: number;
  readonly startedAt: number;
  readonly idempotent: boolean;
  readonly onProgress: CallOptions['onProgress'];
  readonly promise: Promise<ToolResult>;
  /** Absolute; moved by progress. */
  idleAt: number;
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
  /** Told once, with how it ended. */
  onEnd: ((outcome: Outcome) => void) | undefined;
  #resolve: (result: ToolResult) => void = () => {};
  #reject: (error: BulkheadError) => void = () => {};
  #signal: AbortSignal | undefined;
  #onAbort: (() => void) | undefined;

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
    this.idleMs = clampMs(options?.timeoutMs ?? defaults.callTimeoutMs);
    this.idleAt = this.startedAt + this.idleMs;
    this.hardAt = this.startedAt + clampMs(options?.maxMs ?? Math.max(defaults.callMaxMs, this.idleMs));
    this.idempotent = options?.idempotent ?? false;
    this.onProgress = options?.onProgress;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Calls `cancel` when the signal aborts before the end. */
  listen(signal: AbortSignal, cancel: () => void): void {
    this.#signal = signal;
    this.#onAbort = cancel;
    signal.addEventListener('abort', cancel, { once: true });
  }

  get dueAt(): number {
    return Math.min(this.idleAt, this.hardAt);
  }

  succeed(result: ToolResult): void {
    if (this.#end(result.outcome)) this.#resolve(result);
  }

  fail(error: BulkheadError): void {
    if (this.#end(error.outcome)) this.#reject(error);
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

  #end(outcome: Outcome): boolean {
    if (this.done) return false;
    this.done = true;
    this.onEnd?.(outcome);
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener('abort', this.#onAbort);
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
  if (isRaw(args)) return args.json.replaceAll(/[\r\n]+/g, ' ');
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

/** Marks JSON text that goes out byte for byte. */
const rawMark = Symbol('bulkhead.rawArguments');

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
  return Object.defineProperty({ json }, rawMark, { value: true });
}

function isRaw(args: Record<string, unknown> | RawArguments): args is RawArguments {
  return rawMark in args;
}

function clampMs(ms: number): number {
  return Math.min(Math.max(0, ms), MAX_TIMER_MS);
}
