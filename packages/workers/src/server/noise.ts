/**
 * Lines on stdout that are not protocol: a bounded tail of them for diagnostics, and how often to warn.
 * Pure; the clock is an argument.
 */

/** No skipped line is kept longer than this many characters. */
const LINE_MAX = 500;
/** A flood of noise warns at most this often. */
const WARN_EVERY_MS = 60_000;
/** Enough bytes for {@link LINE_MAX} characters of any script, with some colour codes. */
const LOOK_BYTES = 4 * LINE_MAX;

export class SkippedLines {
  readonly #keep: number;
  #lines: string[] = [];
  #count = 0;
  #warnedAt: number | undefined;

  /** Keeps the last `keep` lines. */
  constructor(keep = 10) {
    this.#keep = keep;
  }

  add(text: string): void {
    this.#count++;
    this.#lines.push(clip(text));
    if (this.#lines.length > this.#keep) this.#lines.shift();
  }

  /** All lines so far, kept or not. */
  get count(): number {
    return this.#count;
  }

  /** The last lines, oldest first. */
  tail(): string[] {
    return [...this.#lines];
  }

  /** Whether a warning is due at `now` (ms): the first time, then at most once a minute. True counts as warned. */
  shouldWarn(now: number): boolean {
    if (this.#warnedAt !== undefined && now - this.#warnedAt < WARN_EVERY_MS) return false;
    this.#warnedAt = now;
    return true;
  }
}

const COLOUR_CODE = /^\[[\d;?]*[ -/]*[@-~]/;

/** A foreign line as one that is safe in a log or a terminal: no escape sequences, no control characters, bounded. */
export function readableLine(bytes: Buffer): string {
  const [first = '', ...escaped] = bytes.toString('utf8', 0, LOOK_BYTES).split('\u001b');
  const plain = first + escaped.map((part) => part.replace(COLOUR_CODE, '')).join('');
  return clip(plain.replace(/\p{Cc}+/gu, ' ').trim());
}

function clip(text: string): string {
  if (text.length <= LINE_MAX) return text;
  // Never half a surrogate pair in front of the ellipsis.
  return `${text.slice(0, LINE_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
