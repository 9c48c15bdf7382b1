/**
 * Writes down what goes over one server's connection, a line of JSON for each message, before anyone reads it. Only
 * messages: environment, headers and sign-ins never come here, and values of members with the name of a secret are
 * taken out. Lines of several servers share a file: each is one write at its end.
 */
import { openSync, writeSync } from 'node:fs';
import type { ServerThreadInit } from '../protocol.js';

const NEWLINE = 0x0a;

/** Names of members whose text is a secret; the protocol's own tokens (progress, cursor) are none. */
const NAME =
  '(?:[\\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|api[_-]?key|private[_-]?key|authorization|credential)[\\w.-]{0,40}|(?:(?:access|refresh|id|auth|bearer|session|csrf)[_-]?)?token)';
const SECRET = new RegExp(`("${NAME}"\\s*:\\s*")(?:[^"\\\\]|\\\\.)*(")`, 'gi');
/** The same in JSON that stands as text inside a message, as in the result of most tools. */
const QUOTED_SECRET = new RegExp(
  `(\\\\"${NAME}\\\\"\\s*:\\s*\\\\")(?:[^"\\\\]|\\\\\\\\(?:\\\\["\\\\]|[^"\\\\]))*(\\\\")`,
  'gi',
);

export class Recorder {
  readonly #file: number;
  readonly #server: string;
  readonly #generation: number;
  #parts: Buffer[] = [];

  /** @throws {Error} when the file cannot be written. */
  constructor(file: string, { name, generation }: Pick<ServerThreadInit, 'name' | 'generation'>) {
    this.#file = openSync(file, 'a', 0o600);
    this.#server = name;
    this.#generation = generation;
  }

  /** Whole frames, each ending in a newline or the only one. */
  sent(frames: string): void {
    for (const frame of frames.split('\n')) this.#write('out', frame);
  }

  /** A chunk of the stream as it was read, cut anywhere. */
  received(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.#parts.push(chunk.subarray(start, end));
      this.receivedWhole(Buffer.concat(this.#parts));
      this.#parts = [];
      start = end + 1;
    }
    // A copy: the chunk's memory is not ours for long.
    if (start < chunk.length) this.#parts.push(Buffer.from(chunk.subarray(start)));
  }

  /** One message. */
  receivedWhole(bytes: Uint8Array): void {
    this.#write('in', Buffer.from(bytes).toString('utf8'));
  }

  #write(direction: 'out' | 'in', frame: string): void {
    const text = frame.trim();
    if (text === '') return;
    const head = JSON.stringify({
      at: new Date().toISOString(),
      server: this.#server,
      generation: this.#generation,
      direction,
    });
    try {
      const body = isJson(text)
        ? `"message":${withoutSecrets(text).replace(/[\r\n]+/g, ' ')}`
        : `"noise":${JSON.stringify(withoutSecrets(text))}`;
      writeSync(this.#file, `${head.slice(0, -1)},${body}}\n`);
    } catch {
      // A full disk, or a text that is too long to be looked through, costs the recording a line and the session nothing.
    }
  }
}

function withoutSecrets(text: string): string {
  return text.replace(SECRET, '$1***$2').replace(QUOTED_SECRET, '$1***$2');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
