/**
 * Our end of a stdio session with a client: lines in, lines out. The end of input ends the session once every request
 * that came before it is answered, so that `printf … | bulkhead serve` works.
 */
import type { Readable, Writable } from 'node:stream';
import { isRecord } from '@bulkhead/workers';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, MessageExtraInfo } from '@modelcontextprotocol/sdk/types.js';
import { messageText } from './raw-result.js';
import { withText } from './request-text.js';

/** As long as a message of a server may be by default. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const PROBE = 'server/discover';

export class StdioFace implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (<T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void) | undefined;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #unanswered = new Set<unknown>();
  #held: { message: JSONRPCMessage; text: string }[] | undefined = [];
  #first: (message: JSONRPCMessage | undefined) => void = () => {};
  /** The first message, before the session begins; undefined when none ever comes. */
  readonly first = new Promise<JSONRPCMessage | undefined>((resolve) => {
    this.#first = resolve;
  });
  #parts: Buffer[] = [];
  #partBytes = 0;
  #skipping = false;
  #ended = false;
  #closed = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    input.on('data', this.#take);
    input.on('end', this.#end);
    input.on('error', this.#end);
    output.on('error', this.#end);
  }

  async start(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const { message, text } of held) this.onmessage?.(message, { authInfo: withText(text) });
    this.#closeWhenDone();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    await this.#write(messageText(message));
    if (!('method' in message)) {
      this.#unanswered.delete(message.id);
      this.#closeWhenDone();
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#input.off('data', this.#take).off('end', this.#end).off('error', this.#end);
    this.#input.pause();
    this.#first(undefined);
    this.onclose?.();
  }

  readonly #take = (chunk: Buffer): void => {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.#part(chunk.subarray(start, end));
      this.#line();
      start = end + 1;
    }
    if (start < chunk.length) this.#part(chunk.subarray(start));
  };

  #part(bytes: Buffer): void {
    if (this.#skipping) return;
    this.#partBytes += bytes.length;
    if (this.#partBytes > MAX_LINE_BYTES) {
      this.#skipping = true;
      this.#parts = [];
    } else {
      this.#parts.push(bytes);
    }
  }

  #line(): void {
    const line = Buffer.concat(this.#parts).toString('utf8').trim();
    const tooLong = this.#skipping;
    this.#parts = [];
    this.#partBytes = 0;
    this.#skipping = false;
    if (tooLong) this.#refuse(INVALID_REQUEST, `a message may hold at most ${MAX_LINE_BYTES} bytes`);
    else if (line !== '') this.#decode(line);
  }

  #decode(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      this.#refuse(PARSE_ERROR, 'Parse error: the line is not JSON');
      return;
    }
    if (!isRecord(value) || value.jsonrpc !== '2.0') {
      this.#refuse(INVALID_REQUEST, 'Invalid Request: the line is not a message of JSON-RPC 2.0');
    } else {
      this.#message(value as JSONRPCMessage, line);
    }
  }

  #message(message: JSONRPCMessage, text: string): void {
    if (this.#held !== undefined && 'id' in message && 'method' in message && message.method === PROBE) {
      // A client that asks for the later era first says what it can do in the handshake that follows.
      const error = { code: METHOD_NOT_FOUND, message: `Method not found: ${PROBE}` };
      void this.#write(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
      return;
    }
    if ('method' in message) {
      if ('id' in message) this.#unanswered.add(message.id);
      // What is cancelled gets no answer.
      else if (message.method === 'notifications/cancelled')
        this.#unanswered.delete(message.params?.requestId);
    }
    this.#first(message);
    if (this.#held !== undefined) this.#held.push({ message, text });
    else this.onmessage?.(message, { authInfo: withText(text) });
  }

  #refuse(code: number, message: string): void {
    void this.#write(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
  }

  #write(line: string): Promise<void> {
    return new Promise((resolve) => {
      this.#output.write(`${line}\n`, () => resolve());
    });
  }

  readonly #end = (): void => {
    if (!this.#ended && this.#partBytes > 0) this.#line();
    this.#ended = true;
    this.#first(undefined);
    if (this.#output.errored !== null || this.#output.destroyed) void this.close();
    else this.#closeWhenDone();
  };

  #closeWhenDone(): void {
    if (this.#ended && this.#held === undefined && this.#unanswered.size === 0) void this.close();
  }
}
