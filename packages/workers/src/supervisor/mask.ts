/**
 * What a server prints of its own secrets is not passed on. The supervisor knows their values (of `env`, headers, URLs),
 * because it hands them out, and replaces them in everything that the server writes to stderr. Pure.
 */

const REDACTED = '[redacted]';

export class Mask {
  readonly #pattern: RegExp | undefined;
  /** As UTF-8 bytes, one character each. */
  readonly #inBytes: string[];
  readonly #bytesPattern: RegExp | undefined;
  #held = '';

  constructor(secrets: readonly string[]) {
    // The longest first: one may be the beginning of another.
    const longest = [...new Set(secrets)].filter((text) => text !== '').sort((a, b) => b.length - a.length);
    this.#inBytes = longest.map((text) => Buffer.from(text).toString('latin1'));
    this.#pattern = anyOf(longest);
    this.#bytesPattern = anyOf(this.#inBytes);
  }

  text(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, REDACTED);
  }

  /** The next piece of a stream. What may be the beginning of a secret is held back until what follows tells. */
  push(chunk: Buffer): Buffer {
    const pattern = this.#bytesPattern;
    if (pattern === undefined) return chunk;
    let rest = this.#held + chunk.toString('latin1');
    let text = '';
    for (;;) {
      const known = rest.length - this.#begun(rest);
      pattern.lastIndex = 0;
      const found = pattern.exec(rest);
      if (found === null || found.index >= known) {
        this.#held = rest.slice(known);
        return Buffer.from(text + rest.slice(0, known), 'latin1');
      }
      text += rest.slice(0, found.index) + REDACTED;
      rest = rest.slice(found.index + found[0].length);
    }
  }

  /** What is held back, at the end of the stream. */
  end(): Buffer {
    const pattern = this.#bytesPattern;
    const rest = pattern === undefined ? '' : this.#held.replace(pattern, REDACTED);
    this.#held = '';
    return Buffer.from(rest, 'latin1');
  }

  /** How many characters at the end of the text may be the beginning of a secret. */
  #begun(text: string): number {
    const longest = this.#inBytes[0]?.length ?? 0;
    for (let from = Math.max(0, text.length - longest + 1); from < text.length; from++) {
      const tail = text.slice(from);
      if (this.#inBytes.some((secret) => secret.startsWith(tail))) return tail.length;
    }
    return 0;
  }
}

function anyOf(texts: readonly string[]): RegExp | undefined {
  if (texts.length === 0) return undefined;
  return new RegExp(texts.map((text) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'g');
}
