/**
 * The stdio transport: newline-delimited JSON over the one unix socket that is the child's stdin and stdout.
 * It frames and writes; whose message it is says the router. One bad line never ends the session.
 */
import { isAscii } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { now } from '../clock.js';
import type { Reason } from '../protocol.js';
import { AnswerScanner } from './answer-scan.js';
import { looksLikeContentLength, readLine } from './envelope.js';
import { LineFramer } from './framing.js';
import { SkippedLines } from './noise.js';
import type { Recorder } from './recorder.js';
import { Router } from './router.js';
import type { LaneSink, WireTransport } from './transport.js';

export class StdioTransport implements WireTransport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport['onmessage'];
  onended: ((reason: Reason) => void) | undefined;
  onwarning: ((message: string) => void) | undefined;
  lane: LaneSink | undefined;

  readonly #socket: Socket;
  readonly #router: Router;
  readonly #skipped = new SkippedLines();
  readonly #framer: LineFramer;
  readonly #onBytes: (count: number) => void;
  readonly #onSent: (count: number) => void;
  readonly #onSkipped: () => void;
  readonly #recorder: Recorder | undefined;
  readonly #scanner = new AnswerScanner();
  /** The chunk that is being read, as text, if all of it is ASCII: decoded once, for all its answers. */
  #text: string | undefined;
  #heard = false;
  #started = false;
  #ended = false;
  /** The stream has ended: what is read now stood without a newline. */
  #tail = false;

  /**
   * `onBytes` is called for every chunk that arrives (one of the watchdog's signals), `onSent` for every one that
   * leaves, `onSkipped` for every line that is not protocol.
   */
  constructor(
    socket: Socket,
    options: {
      maxMessageBytes: number;
      onBytes: (count: number) => void;
      onSent: (count: number) => void;
      onSkipped: () => void;
      recorder?: Recorder | undefined;
    },
  ) {
    this.#socket = socket;
    this.#recorder = options.recorder;
    this.#onBytes = options.onBytes;
    this.#onSent = options.onSent;
    this.#onSkipped = options.onSkipped;
    this.#router = new Router({
      lane: () => this.lane,
      deliver: (message) => this.#deliver(message),
      warn: (message) => this.onwarning?.(message),
    });
    this.#framer = new LineFramer(
      { maxMessageBytes: options.maxMessageBytes },
      {
        quick: (chunk, from) => this.#quick(chunk, from, options.maxMessageBytes),
        line: (bytes) => this.#line(bytes),
        oversize: ({ prefix, bytes }) => this.#router.oversize(prefix, bytes),
      },
    );
  }

  /** Idempotent: the probe of the era starts it before the session does. */
  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    this.#socket.on('data', (chunk: Buffer) => {
      this.#onBytes(chunk.length);
      this.#recorder?.received(chunk);
      this.#text = undefined;
      this.#framer.push(chunk);
      this.#text = undefined;
      this.lane?.onTurn();
    });
    this.#socket.on('drain', () => this.lane?.onDrain());
    this.#socket.on('end', () => {
      this.#tail = true;
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

  async send(message: JSONRPCMessage): Promise<void> {
    const outgoing = this.#router.outgoing(message);
    if (outgoing !== undefined) this.writeFrames(`${JSON.stringify(outgoing.message)}\n`);
  }

  async close(): Promise<void> {
    this.#finish({ kind: 'closed', message: 'the session was closed' });
    this.#socket.destroy();
  }

  claimId(): number {
    return this.#router.claimId();
  }

  releaseId(wireId: number): void {
    this.#router.releaseId(wireId);
  }

  get congested(): boolean {
    return this.#socket.writableNeedDrain;
  }

  writeFrames(frames: string): void {
    if (this.#ended) return;
    this.#recorder?.sent(frames);
    this.#onSent(Buffer.byteLength(frames));
    this.#socket.write(frames);
  }

  endInput(): void {
    this.#socket.end();
  }

  skipped(): { count: number; tail: string[] } {
    return { count: this.#skipped.count, tail: this.#skipped.tail() };
  }

  #quick(chunk: Buffer, from: number, maxMessageBytes: number): number {
    const scanner = this.#scanner;
    if (!scanner.scan(chunk, from, false) || scanner.next - from > maxMessageBytes) return 0;
    const { id, start, end, isError, next } = scanner;
    if (this.#text === undefined && isAscii(chunk)) this.#text = chunk.toString('latin1');
    const result =
      this.#text === undefined ? chunk.toString('utf8', start, end) : this.#text.slice(start, end);
    if (!this.#router.plain(id, result, isError)) return 0;
    this.#heard = true;
    return next;
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
    const reading = readLine(bytes, { maxDepth: this.#router.maxDepth });
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
        for (const message of reading.messages) {
          // Cut off by the end of the stream: no answer at all, and what was sent has an unknown outcome.
          if (this.#tail && message.kind === 'invalid') continue;
          this.#router.route(message);
        }
        return;
      default:
        reading satisfies never;
    }
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
