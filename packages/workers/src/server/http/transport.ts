/**
 * The HTTP transport of one session: ids and routing as over stdio, the bytes left to one of two engines. It starts as
 * Streamable HTTP and falls back to the older SSE only when the very first answer says so.
 */
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { now } from '../../clock.js';
import type { WireError } from '../../errors.js';
import type { Reason } from '../../protocol.js';
import { AnswerScanner } from '../answer-scan.js';
import { type Incoming, readLine } from '../envelope.js';
import { SkippedLines } from '../noise.js';
import type { Recorder } from '../recorder.js';
import { MAX_DEPTH, Router } from '../router.js';
import type { LaneSink, WireTransport } from '../transport.js';
import { NotStreamable } from './answer-stream.js';
import { HttpClient } from './client.js';
import type { Engine, EngineHost, Frame } from './engine.js';
import { type Failure, HttpFailure } from './failure.js';
import { LegacySseEngine } from './legacy-sse.js';
import type { MirroredParams } from './request-headers.js';
import { StreamableEngine } from './streamable.js';

/** Requests in a row that found no server, before the connection counts as lost. */
const UNREACHABLE_MAX = 3;
/** Begins the id of the question for the era. */
const PROBE_ID = 'era-probe-';

/** A lane that wants to know how a request failed; others hear of it as an unusable answer. */
export interface HttpLaneSink extends LaneSink {
  /** The request ended without an answer, for the reason given. */
  onFailed?(wireId: number, error: WireError): void;
}

export interface HttpTransportOptions {
  url: URL;
  headers: [string, string][];
  /** `streamable-or-sse`: falls back. */
  mode: 'streamable' | 'sse' | 'streamable-or-sse';
  maxMessageBytes: number;
  onBytes: (count: number) => void;
  onSent?: ((count: number) => void) | undefined;
  onSkipped: () => void;
  recorder?: Recorder | undefined;
  /** Adds credentials to requests. */
  wrapFetch?: (base: FetchLike) => FetchLike;
}

export class HttpTransport implements WireTransport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport['onmessage'];
  onended: ((reason: Reason) => void) | undefined;
  onwarning: ((message: string) => void) | undefined;
  /** A lost session was replaced by a new one: subscriptions and log level must be told again. */
  onrenewed: (() => void) | undefined;
  lane: HttpLaneSink | undefined;
  /** Every request has a connection of its own. */
  readonly congested = false;

  readonly #options: HttpTransportOptions;
  readonly #router: Router;
  readonly #client: HttpClient;
  readonly #host: EngineHost;
  readonly #skipped = new SkippedLines();
  readonly #scanner = new AnswerScanner();
  #engine: Engine;
  #ended = false;
  #unreachable = 0;
  #era: 'legacy' | 'modern' = 'legacy';
  #started: Promise<void> | undefined;
  /** The reason for the end was told before the end. */
  #told = false;

  constructor(options: HttpTransportOptions) {
    const { url, headers, mode, maxMessageBytes, onBytes, wrapFetch } = options;
    this.#options = options;
    this.#client = new HttpClient(url, headers, wrapFetch);
    this.#router = new Router({
      lane: () => this.lane,
      deliver: (message) => this.#deliver(message),
      warn: (message) => this.onwarning?.(message),
    });
    this.#host = {
      router: this.#router,
      maxMessageBytes,
      readPlain: (bytes) => this.#readPlain(bytes),
      read: (bytes) => this.#read(bytes),
      route: (message) => this.#router.route(message),
      fail: (wireId, failure) => this.#fail(wireId, failure),
      turn: () => this.lane?.onTurn(),
      bytes: (count) => {
        this.#unreachable = 0;
        onBytes(count);
      },
      warn: (message) => this.onwarning?.(message),
      end: (reason) => this.#finish(reason),
      renewed: () => {
        // Another instance may answer now: its lists are read again.
        this.#deliver({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
        this.onrenewed?.();
      },
    };
    const Flavour = mode === 'sse' ? LegacySseEngine : StreamableEngine;
    this.#engine = new Flavour(url, this.#client, this.#host);
  }

  /** The older SSE exists in the legacy era only. */
  get legacyOnly(): boolean {
    return this.#options.mode === 'sse';
  }

  setEra(era: 'legacy' | 'modern'): void {
    this.#era = era;
    this.#engine.setEra?.(era);
  }

  mirror(tools: ReadonlyMap<string, MirroredParams>): void {
    this.#engine.mirror?.(tools);
  }

  /** May be called again: the probe starts the transport, and the session after it does too. */
  start(): Promise<void> {
    this.#started ??= this.#connect();
    return this.#started;
  }

  async #connect(): Promise<void> {
    if (!(this.#engine instanceof LegacySseEngine)) return;
    try {
      await this.#engine.open();
    } catch (error) {
      this.#broken(error);
      throw error;
    }
  }

  /** Requests of the SDK resolve at once and are answered or failed later; notifications when they were delivered. */
  async send(message: JSONRPCMessage): Promise<void> {
    const outgoing = this.#router.outgoing(message);
    if (outgoing === undefined || this.#ended) return;
    if (outgoing.cancels !== undefined) {
      this.#engine.cancel(outgoing.cancels);
      if (this.#era === 'modern') {
        // The cut stream is the cancellation; this forgets the id.
        this.#router.failSdk(outgoing.cancels, -32603, 'cancelled');
        return;
      }
    }
    const frame: Frame = {
      text: JSON.stringify(outgoing.message),
      wireId: outgoing.wireId,
      method: 'method' in message ? message.method : undefined,
    };
    this.#options.recorder?.sent(frame.text);
    if ('id' in message && String(message.id).startsWith(PROBE_ID)) await this.#probe(frame);
    else if (frame.method === 'initialize') void this.#initialize(frame);
    else if (frame.wireId !== undefined) void this.#engine.send(frame);
    else await this.#engine.send(frame);
  }

  async close(): Promise<void> {
    this.#finish({ kind: 'closed', message: 'the session was closed' });
    await this.#engine.close();
    await this.#client.close();
  }

  claimId(): number {
    return this.#router.claimId();
  }

  releaseId(wireId: number): void {
    this.#router.releaseId(wireId);
  }

  writeFrames(frames: string): void {
    if (this.#ended) return;
    for (const text of frames.split('\n')) {
      const frame = text === '' ? undefined : this.#frame(text);
      if (frame === undefined) continue;
      this.#options.recorder?.sent(text);
      this.#options.onSent?.(Buffer.byteLength(text));
      void this.#engine.send(frame);
    }
  }

  /** There is no input to end: the goodbye is said here, and `close()` waits for it. */
  endInput(): void {
    void this.close();
  }

  skipped(): { count: number; tail: string[] } {
    return { count: this.#skipped.count, tail: this.#skipped.tail() };
  }

  /** Frames of the lane begin in one of two ways; undefined when nothing is to be sent. */
  #frame(text: string): Frame | undefined {
    const request = /^\{"jsonrpc":"2\.0","id":(\d+),"method":/.exec(text);
    if (request !== null) return { text, wireId: Number(request[1]), method: undefined };
    const cancelled =
      /^\{"jsonrpc":"2\.0","method":"notifications\/cancelled","params":\{"requestId":(\d+)/.exec(text);
    if (cancelled !== null) {
      this.#engine.cancel(Number(cancelled[1]));
      if (this.#era === 'modern') return undefined;
    }
    return { text, wireId: undefined, method: undefined };
  }

  /**
   * A refusal that may be a sign of the older era is left to who asks. Anything else says nothing about eras and is the
   * reason for the end that follows.
   * @throws an error with `status` and `body`, or the failure.
   */
  async #probe(frame: Frame): Promise<void> {
    try {
      await this.#engine.send({ ...frame, probe: true });
    } catch (error) {
      if (frame.wireId !== undefined) this.#router.forgetSdk(frame.wireId);
      const failure = error instanceof HttpFailure ? error.failure : undefined;
      const status = failure?.data.status;
      const evidence =
        typeof status === 'number' && status >= 400 && status < 500 && status !== 401 && status !== 403;
      const message = error instanceof Error ? error.message : String(error);
      if (!evidence && !this.#ended) {
        this.#told = true;
        // Who hears the reason closes at once, which the probe must not take for a server that died of it.
        this.onclose = undefined;
        this.onended?.({ kind: failure?.kind ?? 'http', message });
      }
      const body = error instanceof HttpFailure ? error.body : undefined;
      throw Object.assign(new Error(message, { cause: error }), { status, body });
    }
  }

  async #initialize(frame: Frame): Promise<void> {
    try {
      await this.#engine.send(frame);
    } catch (error) {
      if (error instanceof NotStreamable && this.#options.mode === 'streamable-or-sse' && !this.#ended) {
        await this.#fallBack(frame, error);
        return;
      }
      this.#broken(error, frame.wireId);
    }
  }

  /** The older transport in the same place, from scratch; if that fails too, the first failure leads. */
  async #fallBack(frame: Frame, first: NotStreamable): Promise<void> {
    await this.#engine.close();
    const engine = new LegacySseEngine(this.#options.url, this.#client, this.#host);
    this.#engine = engine;
    try {
      await engine.open();
      await engine.send(frame);
      if (!this.#ended)
        this.onwarning?.('it speaks the older HTTP+SSE transport; say "type": "sse" to save the attempt');
    } catch (error) {
      const second = error instanceof Error ? error.message : String(error);
      const { failure } = first;
      const message = `${failure.message}; as an older SSE server it does not work either: ${second}`;
      this.#broken(new HttpFailure({ ...failure, message }), frame.wireId);
    }
  }

  /** The start failed: the reason goes up before the SDK's own error does. */
  #broken(error: unknown, wireId?: number): void {
    const message = error instanceof Error ? error.message : String(error);
    const kind = error instanceof HttpFailure ? error.failure.kind : 'http';
    if (!this.#ended) this.onended?.({ kind, message });
    if (wireId !== undefined) this.#router.failSdk(wireId, -32603, message);
    this.#finish({ kind, message }, true);
  }

  #readPlain(bytes: Buffer): boolean {
    const scanner = this.#scanner;
    if (!scanner.scan(bytes, 0, true)) return false;
    const text = bytes.toString('utf8', scanner.start, scanner.end);
    if (!this.#router.plain(scanner.id, text, scanner.isError)) return false;
    this.#options.recorder?.receivedWhole(bytes);
    return true;
  }

  #read(bytes: Buffer): Incoming[] {
    this.#options.recorder?.receivedWhole(bytes);
    const reading = readLine(bytes, { maxDepth: MAX_DEPTH });
    if (reading.kind === 'messages') return reading.messages;
    this.#skipped.add(reading.text);
    this.#options.onSkipped();
    if (this.#skipped.shouldWarn(now()))
      this.onwarning?.(`skipped a body or event that is not JSON-RPC: ${reading.text}`);
    return [];
  }

  #fail(wireId: number, failure: Failure): void {
    if (this.#router.pending(wireId) && !this.#router.failSdk(wireId, -32603, failure.message)) {
      const { code, message, data } = failure;
      if (this.lane?.onFailed === undefined) this.lane?.onInvalid(wireId, message);
      else this.lane.onFailed(wireId, { code, message, data });
    }
    if (failure.kind !== 'network') return;
    this.#unreachable++;
    if (this.#unreachable < UNREACHABLE_MAX) return;
    this.#finish({ kind: 'network', message: failure.message });
  }

  #deliver(message: Record<string, unknown>): void {
    try {
      this.onmessage?.(message as unknown as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #finish(reason: Reason, told = this.#told): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!told) this.onended?.(reason);
    this.onclose?.();
  }
}
