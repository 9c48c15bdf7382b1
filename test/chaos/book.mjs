/**
 * The book of one server's calls: how each ended, counted per call, and how often the server says that it got it.
 * Calls are numbered, and the number travels in the call's text, so both sides can be compared. A byte per call each.
 */
import { readFileSync, renameSync, rmSync } from 'node:fs';

const IDEMPOTENT = 1;
const ENDED = 2;
const ANSWERED = 4;

export class Book {
  #server;
  #violation;
  #size = 0;
  #marks = new Uint8Array(1_024);
  #executions = new Uint8Array(1_024);
  #open = 0;
  /** Ends by outcome. */
  outcomes = new Map();

  /** @param {{name: string, ledger?: string}} server @param {(text: string) => void} violation */
  constructor(server, violation) {
    this.#server = server;
    this.#violation = violation;
  }

  get calls() {
    return this.#size;
  }

  /** Calls without an end. */
  get open() {
    return this.#open;
  }

  /** @returns {number} the call's number; the call must carry `textOf(number)` as its argument `text` */
  begin(idempotent) {
    const call = this.#size++;
    if (call === this.#marks.length) {
      this.#marks = grown(this.#marks);
      this.#executions = grown(this.#executions);
    }
    this.#marks[call] = idempotent ? IDEMPOTENT : 0;
    this.#open++;
    return call;
  }

  end(call, outcome) {
    if (this.#marks[call] & ENDED) this.#violation(`${this.#server.name}: call ${call} ended twice`);
    else this.#open--;
    this.#marks[call] |= outcome === 'ok' || outcome === 'tool_error' ? ENDED | ANSWERED : ENDED;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /**
   * Takes in what the server wrote since the last time. The file is renamed away and read one round later: an append
   * that had opened it before the rename has ended by then.
   */
  readLedger() {
    const { ledger } = this.#server;
    if (ledger === undefined) return;
    const aside = `${ledger}.aside`;
    this.#take(aside);
    try {
      renameSync(ledger, aside);
    } catch {
      // Nothing new was written.
    }
  }

  /** After the servers are gone: compares both sides. @returns {number} executions in all */
  settle() {
    this.readLedger();
    this.readLedger();
    const { name, ledger } = this.#server;
    if (this.#open > 0) this.#violation(`${name}: ${this.#open} calls never ended`);
    if (ledger === undefined) return 0;
    let executions = 0;
    for (let call = 0; call < this.#size; call++) {
      const times = this.#executions[call];
      executions += times;
      const most = this.#marks[call] & IDEMPOTENT ? 2 : 1;
      if (times > most) {
        const word = most === 1 ? 'not idempotent' : 'idempotent';
        this.#violation(`${name}: call ${call} is ${word} and was executed ${times} times`);
      }
      if (times === 0 && this.#marks[call] & ANSWERED)
        this.#violation(`${name}: call ${call} was answered, but the server never got it`);
    }
    return executions;
  }

  #take(file) {
    let text;
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      return;
    }
    rmSync(file);
    // Not by lines: a server that is killed while it writes leaves half a line, and the next one writes on.
    for (const [, digits] of text.matchAll(/"text":"call (\d+)"/g)) {
      const call = Number(digits);
      if (call >= this.#size) this.#violation(`${this.#server.name}: it got call ${call}, which nobody made`);
      else this.#executions[call]++;
    }
  }
}

export const textOf = (call) => `call ${call}`;

function grown(bytes) {
  const larger = new Uint8Array(bytes.length * 2);
  larger.set(bytes);
  return larger;
}
