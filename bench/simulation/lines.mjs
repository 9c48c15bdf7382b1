/**
 * What the ledger of a simulated batch knows of each line, and what really happened to it: how often it ran, and how often
 * it got its result. A promise that is broken shows here.
 */

export const END = { none: 0, ok: 1, unknown: 2, lost: 3 };

export class Lines {
  #sent;
  #ends;
  #runs;
  #idempotent;
  /** Lines that have their result. */
  answered = 0;
  /** Results that came for a line that had one. */
  dropped = 0;
  violations = [];

  constructor(count, isIdempotent) {
    this.#sent = new Uint8Array(count);
    this.#ends = new Uint8Array(count);
    this.#runs = new Uint8Array(count);
    this.#idempotent = Uint8Array.from({ length: count }, () => (isIdempotent() ? 1 : 0));
  }

  /** What a worker does with the line when it takes its chunk. */
  fate(line) {
    if (this.#ends[line] !== END.none) return 'done';
    if (this.#sent[line] === 1 && this.#idempotent[line] === 0) return 'unknown';
    return 'run';
  }

  wasSent(line) {
    return this.#sent[line] === 1;
  }

  markSent(line) {
    this.#sent[line] = 1;
  }

  /** A server has got the call. */
  ran(line) {
    if (this.#sent[line] === 0) this.violations.push(`line ${line} ran before it was noted as sent`);
    this.#runs[line]++;
    if (this.#runs[line] > 1 && this.#idempotent[line] === 0) this.violations.push(`line ${line} ran twice`);
  }

  end(line, end) {
    if (this.#ends[line] !== END.none) {
      this.dropped++;
      return;
    }
    this.#ends[line] = end;
    this.answered++;
  }

  count(end) {
    return this.#ends.reduce((sum, own) => sum + (own === end ? 1 : 0), 0);
  }

  /** Sentences about what was promised and is not so. @param {number} atRisk lines that were under way at a kill */
  broken(atRisk) {
    const unknown = this.count(END.unknown);
    const all = this.#ends.length;
    return [
      ...this.violations,
      ...(this.answered === all ? [] : [`${this.answered} of ${all} lines have their result`]),
      ...(this.dropped === 0 ? [] : [`${this.dropped} lines got two results`]),
      ...(unknown <= atRisk ? [] : [`${unknown} lines are unknown, more than were under way at a kill`]),
    ];
  }

  get ranAgain() {
    return this.#runs.reduce((sum, runs) => sum + (runs > 1 ? 1 : 0), 0);
  }
}
