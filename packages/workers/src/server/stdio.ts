/**
 * The stdio transport: newline-delimited JSON over the one unix socket that is the child's stdin and stdout.
 * It frames, routes answers by id (lane first, SDK otherwise) and maps ids. One bad line never ends the session.
 */
import type { Socket } from 'node:net';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { now } from '../clock.js';
import type { Reason } from '../protocol.js';
import { type Incoming, looksLikeContentLength, parseLarge, readLine, sniffId } from './envelope.js';
import { LineFramer } from './framing.js';
import { SkippedLines } from './noise.js';
import type { LaneSink, WireTransport } from './transport.js';
import { WireIds } from './wire-ids.js';

/** Nesting above this is refused before parsing: cloning or serialising it would overflow the stack. */
const MAX_DEPTH = 1_000;

export class StdioTransport implements WireTransport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport['onmessage'];
  onended: ((reason: Reason) => void) | undefined;
  onwarning: ((message: string) => void) | undefined;
  lane: LaneSink | undefined;

  readonly #socket: Socket;
  readonly #ids = new WireIds();
  readonly #skipped = new SkippedLines();
  readonly #framer: LineFramer;
  readonly #onBytes: () => void;
  readonly #onSkipped: () => void;
  #initializeId: number | string | undefined;
  #heard = false;
  #ended = false;

  /**
   * `onBytes` is called for every chunk that arrives (one of the watchdog's signals), `onSkipped` for every line that
   * is not protocol.
   */
  constructor(
    socket: Socket,
    options: { maxMessageBytes: number; onBytes: () => void; onSkipped: () => void },
  ) {
    this.#socket = socket;
    this.#onBytes = options.onBytes;
    this.#onSkipped = options.onSkipped;
    this.#framer = new LineFramer(
      { maxMessageBytes: options.maxMessageBytes },
      {
        line: (bytes) => this.#line(bytes),
        oversize: ({ prefix, bytes }) => this.#oversize(prefix, bytes),
      },
    );
  }

  async start(): Promise<void> {
    this.#socket.on('data', (chunk: Buffer) => {
      this.#onBytes();
      this.#framer.push(chunk);
      this.lane?.onTurn();
    });
    this.#socket.on('drain', () => this.lane?.onDrain());
    this.#socket.on('end', () => {
      this.#framer.end();
      this.lane?.onTurn();
      this.#finish({ kind: 'closed', message: 'the server closed its stdout' });
    });
    // A write into a dead pipe must never become an uncaught error of the host.
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#finish({
        kind: 'closed',
        message: `the connection to the server broke (${error.code ?? error.message})`,
      });
    });
    this.#socket.on('close', () => {
      this.#finish({ kind: 'closed', message: 'the connection to the server was closed' });
    });
    this.#socket.resume(); // it was accepted paused, so that no byte came before these listeners
  }

  /** Messages of the SDK: requests get a wire id, cancellations are mapped (never for `initialize`). */
  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message && 'id' in message) {
      const wire = this.#ids.claimForSdk(message.id);
      if (message.method === 'initialize') this.#initializeId = message.id;
      const meta = message.params?._meta;
      const params =
        meta?.progressToken === undefined
          ? message.params
          : { ...message.params, _meta: { ...meta, progressToken: wire } };
      this.#write({ ...message, id: wire, ...(params === undefined ? {} : { params }) });
      return;
    }
    if ('method' in message && message.method === 'notifications/cancelled') {
      const sdkId = message.params?.requestId as number | string;
      if (sdkId === this.#initializeId) return;
      const wire = this.#ids.wireOf(sdkId);
      if (wire === undefined) return; // answered already
      this.#write({
        ...message,
        params: { requestId: wire, reason: 'The client no longer waits for this request.' },
      });
      return;
    }
    this.#write(message);
  }

  async close(): Promise<void> {
    this.#finish({ kind: 'closed', message: 'the session was closed' });
    this.#socket.destroy();
  }

  claimId(): number {
    return this.#ids.claimForLane();
  }

  releaseId(wireId: number): void {
    this.#ids.releaseLane(wireId);
  }

  get congested(): boolean {
    return this.#socket.writableNeedDrain;
  }

  writeFrames(frames: string): void {
    if (!this.#ended) this.#socket.write(frames);
  }

  endInput(): void {
    this.#socket.end();
  }

  skipped(): { count: number; tail: string[] } {
    return { count: this.#skipped.count, tail: this.#skipped.tail() };
  }

  #write(message: unknown): void {
    this.writeFrames(`${JSON.stringify(message)}\n`);
  }

  #line(bytes: Buffer): void {
    if (!this.#heard && looksLikeContentLength(bytes)) {
      this.#finish({
        kind: 'framing',
        message:
          'the server answers with Content-Length headers (LSP framing); MCP over stdio is one JSON message per line',
      });
      return;
    }
    const reading = readLine(bytes, { maxDepth: MAX_DEPTH });
    switch (reading.kind) {
      case 'noise':
        this.#skipped.add(reading.text);
        this.#onSkipped();
        if (this.#skipped.shouldWarn(now())) {
          this.onwarning?.(`skipped a line on stdout that is not JSON-RPC: ${reading.text}`);
        }
        return;
      case 'messages':
        this.#heard = true;
        if (reading.batch) this.onwarning?.('the server wraps messages in a JSON array; they were unwrapped');
        for (const message of reading.messages) this.#route(message);
        return;
      default:
        reading satisfies never;
    }
  }

  #route(message: Incoming): void {
    switch (message.kind) {
      case 'response': {
        if (this.#ids.isLane(message.id)) {
          this.lane?.onResponse(message.id, message);
          return;
        }
        const sdkId = this.#ids.takeSdk(message.id);
        if (sdkId === undefined) return; // late, duplicate or unknown: dropped
        const value = sdkId === this.#initializeId ? tolerantInitialize(message.value) : message.value;
        this.#deliver({ ...value, id: sdkId });
        return;
      }
      case 'large': {
        if (this.#ids.isLane(message.id)) {
          this.lane?.onLarge(message.id, message);
          return;
        }
        const value = parseLarge(message.bytes);
        const reason = `it has ${message.bytes.length} bytes and is no JSON or too much of it`;
        this.#route(
          value === undefined
            ? { kind: 'invalid', id: message.id, reason }
            : { kind: 'response', id: message.id, text: '', bytes: message.bytes, value, coerced: false },
        );
        return;
      }
      case 'invalid': {
        if (message.id === null) return;
        if (this.#ids.isLane(message.id)) {
          this.lane?.onInvalid(message.id, message.reason);
          return;
        }
        const sdkId = this.#ids.takeSdk(message.id);
        if (sdkId === undefined) return;
        // The SDK would only raise onerror and let the caller wait for its timeout.
        this.#deliver({
          jsonrpc: '2.0',
          id: sdkId,
          error: { code: -32600, message: `unusable answer: ${message.reason}` },
        });
        return;
      }
      case 'notification':
        if (message.method === 'notifications/progress') this.#progress(message.value);
        else this.#deliver(message.value);
        return;
      case 'request':
        this.#deliver(message.value);
        return;
      default:
        message satisfies never;
    }
  }

  #progress(value: Record<string, unknown>): void {
    const params = value.params as Record<string, unknown> | undefined;
    const token = Number(params?.progressToken);
    if (params === undefined || !Number.isInteger(token)) return;
    if (this.#ids.isLane(token)) {
      this.lane?.onProgress(token, params);
      return;
    }
    const sdkId = this.#ids.sdkOf(token);
    if (sdkId !== undefined) this.#deliver({ ...value, params: { ...params, progressToken: sdkId } });
  }

  #oversize(prefix: Buffer, bytes: number): void {
    const id = sniffId(prefix);
    if (id !== undefined && this.#ids.isLane(id)) {
      this.lane?.onOversize(id, bytes);
      return;
    }
    const sdkId = id === undefined ? undefined : this.#ids.takeSdk(id);
    if (sdkId === undefined) {
      this.onwarning?.(
        `skipped a message of ${bytes} bytes, above maxMessageBytes, that names no pending call`,
      );
      return;
    }
    this.#deliver({
      jsonrpc: '2.0',
      id: sdkId,
      error: { code: -32600, message: `answer of ${bytes} bytes is above maxMessageBytes` },
    });
  }

  #deliver(message: Record<string, unknown>): void {
    try {
      this.onmessage?.(message as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #finish(reason: Reason): void {
    if (this.#ended) return;
    this.#ended = true;
    this.onended?.(reason);
    this.onclose?.();
  }
}

/** `initialize` answers that the SDK refuses over trifles: null or missing members get their defaults. */
function tolerantInitialize(value: Record<string, unknown>): Record<string, unknown> {
  const result = value.result;
  if (typeof result !== 'object' || result === null) return value;
  const fields = new Map(Object.entries(result).filter(([, field]) => field !== null));
  const info = (fields.get('serverInfo') ?? {}) as Record<string, unknown>;
  fields.set('serverInfo', { ...info, name: info.name ?? 'unnamed', version: info.version ?? '0' });
  fields.set('capabilities', fields.get('capabilities') ?? {});
  return { ...value, result: Object.fromEntries(fields) };
}
