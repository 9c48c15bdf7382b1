/**
 * Plain answers without parsing: `{"jsonrpc":"2.0","id":7,"result":{…}}`, in either of the two orders that servers
 * write. One strict pass over the bytes says that it is JSON, whose answer it is, where the result stands and whether it
 * is an error of the tool. Whatever is not exactly so (other members, odd ids, escapes in names, deep nesting, mistakes)
 * is left to `readLine`, which knows all of it. Builds nothing, so it leaves nothing to collect.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

const ascii = (text: string) => Uint8Array.from(Buffer.from(text));
const VERSION_FIRST = ascii('{"jsonrpc":"2.0","id":');
const THEN_RESULT = ascii(',"result":');
const RESULT_FIRST = ascii('{"result":');
const THEN_VERSION = ascii(',"jsonrpc":"2.0","id":');
const IS_ERROR = ascii('"isError"');
const TRUE = ascii('true');
const FALSE = ascii('false');
const NULL = ascii('null');

/** Deeper results are read the other way. */
const MAX_DEPTH = 64;
/** Ids of up to nine digits are small integers. */
const MAX_ID_DIGITS = 9;
const NOT_FOUND = -1;

/** Characters behind a backslash, without `u`. */
const ESCAPES = new Uint8Array(256);
for (const code of ascii('"\\/bfnrt')) ESCAPES[code] = 1;
const HEX = new Uint8Array(256);
for (const code of ascii('0123456789abcdefABCDEF')) HEX[code] = 1;

export class AnswerScanner {
  /** The call's wire id. */
  id = 0;
  /** Where the result stands in the bytes, `end` exclusive. */
  start = 0;
  end = 0;
  isError = false;
  /** Index behind the newline of the message; the length of the bytes when it ends with them. */
  next = 0;
  readonly #isObject = new Uint8Array(MAX_DEPTH);

  /**
   * Reads the message that begins at `from`. False when it is no plain answer, or not whole; then the fields mean nothing.
   * @param whole the bytes end with the message; otherwise a newline must end it.
   */
  scan(bytes: Uint8Array, from: number, whole: boolean): boolean {
    let at: number;
    if (startsWith(bytes, from, VERSION_FIRST)) {
      at = this.#readId(bytes, from + VERSION_FIRST.length);
      if (at === NOT_FOUND || !startsWith(bytes, at, THEN_RESULT)) return false;
      at = this.#readResult(bytes, at + THEN_RESULT.length);
    } else if (startsWith(bytes, from, RESULT_FIRST)) {
      at = this.#readResult(bytes, from + RESULT_FIRST.length);
      if (at === NOT_FOUND || !startsWith(bytes, at, THEN_VERSION)) return false;
      at = this.#readId(bytes, at + THEN_VERSION.length);
    } else {
      return false;
    }
    if (at === NOT_FOUND || bytes[at] !== CLOSE_BRACE) return false;
    at++;
    if (at === bytes.length) {
      this.next = at;
      return whole;
    }
    if (bytes[at] === CARRIAGE_RETURN) at++;
    this.next = at + 1;
    return bytes[at] === NEWLINE && !whole;
  }

  #readId(bytes: Uint8Array, from: number): number {
    let at = from;
    let id = 0;
    for (let byte = bytes[at] as number; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) {
      id = id * 10 + (byte - ZERO);
    }
    const digits = at - from;
    if (digits === 0 || digits > MAX_ID_DIGITS || bytes[from] === ZERO) return NOT_FOUND;
    this.id = id;
    return at;
  }

  #readResult(bytes: Uint8Array, from: number): number {
    if (bytes[from] !== OPEN_BRACE) return NOT_FOUND;
    this.isError = false;
    this.start = from;
    this.end = this.#skipValue(bytes, from);
    return this.end;
  }

  /** Index behind the value at `from`, checked to the last byte. */
  #skipValue(bytes: Uint8Array, from: number): number {
    let depth = 0;
    let at = from;
    for (;;) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        at = stringEnd(bytes, at + 1);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (depth === MAX_DEPTH) return NOT_FOUND;
        const isObject = byte === OPEN_BRACE;
        at = skipBlanks(bytes, at + 1);
        if (bytes[at] === (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
          at++;
        } else {
          this.#isObject[depth++] = isObject ? 1 : 0;
          if (isObject) {
            at = this.#skipName(bytes, at, depth);
            if (at === NOT_FOUND) return NOT_FOUND;
          }
          continue;
        }
      } else if (byte === MINUS || (byte !== undefined && byte >= ZERO && byte <= NINE)) {
        at = numberEnd(bytes, at);
      } else {
        at = literalEnd(bytes, at);
      }
      if (at === NOT_FOUND) return NOT_FOUND;
      // Behind a value: the next one, or the ends of what holds it.
      for (;;) {
        if (depth === 0) return at;
        at = skipBlanks(bytes, at);
        const inObject = this.#isObject[depth - 1] === 1;
        if (bytes[at] === COMMA) {
          at = skipBlanks(bytes, at + 1);
          if (inObject) at = this.#skipName(bytes, at, depth);
          if (at === NOT_FOUND) return NOT_FOUND;
          break;
        }
        if (bytes[at] !== (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) return NOT_FOUND;
        at++;
        depth--;
      }
    }
  }

  /** Index of the value behind a member's name. Of a repeated `isError` the last one counts, as in JSON.parse. */
  #skipName(bytes: Uint8Array, from: number, depth: number): number {
    if (bytes[from] !== QUOTE) return NOT_FOUND;
    let at = stringEnd(bytes, from + 1);
    if (at === NOT_FOUND) return NOT_FOUND;
    const nameEnd = at;
    at = skipBlanks(bytes, at);
    if (bytes[at] !== COLON) return NOT_FOUND;
    at = skipBlanks(bytes, at + 1);
    if (depth > 1) return at;
    // A name of the result itself: it must be legible as it stands.
    for (let i = from + 1; i < nameEnd; i++) if (bytes[i] === BACKSLASH) return NOT_FOUND;
    if (nameEnd - from === IS_ERROR.length && startsWith(bytes, from, IS_ERROR)) {
      this.isError = startsWith(bytes, at, TRUE);
    }
    return at;
  }
}

function startsWith(bytes: Uint8Array, from: number, head: Uint8Array): boolean {
  for (let i = 0; i < head.length; i++) if (bytes[from + i] !== head[i]) return false;
  return true;
}

/** Blanks inside one line; any other whitespace is left to the thorough reader. */
function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
  return at;
}

/** Index behind the closing quote; `from` is behind the opening one. */
function stringEnd(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length) {
    const byte = bytes[at++] as number;
    if (byte === QUOTE) return at;
    if (byte < 0x20) return NOT_FOUND;
    if (byte !== BACKSLASH) continue;
    const escaped = bytes[at++] ?? 0;
    if (ESCAPES[escaped] === 1) continue;
    if (escaped !== 0x75 || at + 4 > length) return NOT_FOUND;
    for (const last = at + 4; at < last; at++) if (HEX[bytes[at] as number] !== 1) return NOT_FOUND;
  }
  return NOT_FOUND;
}

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  return at === from ? NOT_FOUND : at;
}

function numberEnd(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === MINUS ? from + 1 : from;
  at = bytes[at] === ZERO ? at + 1 : digitsEnd(bytes, at);
  if (at !== NOT_FOUND && bytes[at] === DOT) at = digitsEnd(bytes, at + 1);
  if (at !== NOT_FOUND && ((bytes[at] ?? 0) | 0x20) === 0x65) {
    at++;
    if (bytes[at] === MINUS || bytes[at] === 0x2b) at++;
    at = digitsEnd(bytes, at);
  }
  return at;
}

function literalEnd(bytes: Uint8Array, from: number): number {
  const literal = bytes[from] === TRUE[0] ? TRUE : bytes[from] === FALSE[0] ? FALSE : NULL;
  return startsWith(bytes, from, literal) ? from + literal.length : NOT_FOUND;
}
