/** One line about what goes on: redrawn in place on a terminal, elsewhere a line now and then. */
import type { Output } from '../output.js';
import { cut } from '../top/cells.js';

const REDRAW_MS = 1_000;
const CLEAR_LINE = '\r\u001b[K';
/** Also of a terminal that says 0. */
const USUAL_COLUMNS = 80;

export interface LiveLineOptions {
  /** Time between two lines where nothing can be redrawn, in ms. */
  everyMs: number;
  /** Results go to the same terminal and would tear the line apart. */
  sharesTerminal?: boolean;
}

export class LiveLine {
  readonly #output: Output;
  readonly #redraws: boolean;
  readonly #text: () => string | Promise<string>;
  readonly #timer: NodeJS.Timeout;
  #isAsking = false;
  #isDrawn = false;
  #isEnded = false;
  #last = '';

  /**
   * @param text How things are now, as a line of stderr: of JSON where those are. What cannot be told is not shown:
   * whoever works with the store says why.
   */
  constructor(output: Output, options: LiveLineOptions, text: () => string | Promise<string>) {
    const { everyMs, sharesTerminal = false } = options;
    const isScreen = output.stderr.isTTY === true && process.env.TERM !== 'dumb';
    this.#output = output;
    this.#redraws = isScreen && !output.json && !sharesTerminal;
    this.#text = text;
    this.#timer = setInterval(() => void this.#look(), this.#redraws ? REDRAW_MS : everyMs);
  }

  /** A line for good, above the live one. */
  note(line: string): void {
    this.#clear();
    this.#output.note(line);
  }

  end(): void {
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#clear();
  }

  async #look(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      this.#show(await this.#text());
    } catch {
      // See the constructor.
    } finally {
      this.#isAsking = false;
    }
  }

  #show(text: string): void {
    if (this.#isEnded) return;
    const { stderr } = this.#output;
    if (this.#redraws) {
      stderr.write(`${CLEAR_LINE}${cut(text, (stderr.columns || USUAL_COLUMNS) - 1)}`);
      this.#isDrawn = true;
    } else if (text !== this.#last) this.#output.report(text);
    this.#last = text;
  }

  #clear(): void {
    if (this.#isDrawn) this.#output.stderr.write(CLEAR_LINE);
    this.#isDrawn = false;
  }
}
