/** `top` as it runs: asks the resident again and again, turns keys into commands, and keeps the screen up to date. */
import { setTimeout as wait } from 'node:timers/promises';
import type { ControlClient, ServerCommand, StatusReport } from '@bulkhead/runtime/control/client';
import { plain } from '../output.js';
import { LatencyHistory } from './history.js';
import { type Key, press, type ScreenState } from './keys.js';
import { type Frame, frameOf, type Size } from './layout.js';
import { LogLines } from './log-lines.js';
import { sorted } from './sort.js';

const EVERY_MS = 1_000;
/** A flood of log lines is drawn this often. */
const LOGS_MS = 100;
/** From here on the screen says that it is old. */
const OLD_MS = 3_000;
/** How long the last command is told. */
const TOLD_MS = 6_000;

export interface Sight {
  readonly size: Size;
  show(frame: Frame): void;
}

export type End = 'quit' | 'interrupt';

export class Top {
  readonly #connect: (signal?: AbortSignal) => ControlClient;
  readonly #history = new LatencyHistory();
  readonly #stop = new AbortController();
  readonly #ended: Promise<End>;
  #end: (end: End) => void = () => {};
  #sight: Sight | undefined;
  #state: ScreenState = { selected: undefined, sort: 'name', pane: 'detail' };
  #report: StatusReport | undefined;
  #answeredAt = performance.now();
  #told: { text: string; at: number } | undefined;
  #logs: LogLines | undefined;
  #drawing: NodeJS.Timeout | undefined;

  /** @param connect a client whose requests give up when the resident does not answer, or at the signal. */
  constructor(connect: (signal?: AbortSignal) => ControlClient) {
    this.#connect = connect;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /**
   * Resolves when the person leaves.
   * @throws {BulkheadError} when the resident is gone.
   */
  async run(sight: Sight): Promise<End> {
    this.#sight = sight;
    try {
      return await Promise.race([this.#ended, this.#ask(), this.#keepTime()]);
    } finally {
      this.#stop.abort();
      this.#logs?.close();
      clearTimeout(this.#drawing);
    }
  }

  press(key: Key): void {
    const rows = this.#rows();
    const { state, wish } = press(this.#state, key, rows, Math.max(1, (this.#sight?.size.rows ?? 20) - 8));
    this.#state = state;
    switch (wish?.is) {
      case 'quit':
      case 'interrupt':
        this.#end(wish.is);
        return;
      case 'command':
        void this.#command(wish.server, wish.command);
    }
    this.draw();
  }

  draw(): void {
    const report = this.#report;
    if (report === undefined || this.#sight === undefined || this.#stop.signal.aborted) return;
    const rows = this.#rows();
    const shown = {
      report,
      rows,
      state: this.#state,
      latency: (name: string) => this.#history.of(name),
      logs: this.#logsOf(rows),
      message: this.#message(),
    };
    this.#sight.show(frameOf(shown, this.#sight.size));
  }

  #rows() {
    return sorted(this.#report?.servers ?? [], this.#state.sort);
  }

  /** Lines of the selected server while they are looked at. */
  #logsOf(rows: ReturnType<typeof sorted>): readonly string[] | undefined {
    const server = rows.find(({ name }) => name === this.#state.selected) ?? rows[0];
    const wanted = this.#state.pane === 'logs' ? server?.name : undefined;
    if (this.#logs?.server !== wanted) {
      this.#logs?.close();
      this.#logs =
        wanted === undefined ? undefined : new LogLines(wanted, this.#connect, () => this.#drawSoon());
    }
    return this.#logs?.lines;
  }

  #drawSoon(): void {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      this.draw();
    }, LOGS_MS);
  }

  #message(): string {
    const silentMs = performance.now() - this.#answeredAt;
    if (silentMs > OLD_MS) return `the resident has not answered for ${Math.round(silentMs / 1_000)} s`;
    const told = this.#told;
    return told === undefined || performance.now() - told.at > TOLD_MS ? '' : told.text;
  }

  #tell(text: string): void {
    this.#told = { text, at: performance.now() };
    this.draw();
  }

  async #command(server: string, command: ServerCommand): Promise<void> {
    this.#tell(`${command} ${plain(server)} …`);
    try {
      const { state } = await this.#connect(this.#stop.signal).command(server, command);
      this.#tell(`${command} ${plain(server)}: it is ${state}`);
      await this.#once();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#tell(`${command} ${plain(server)}: ${plain((error as Error).message)}`);
    }
  }

  async #once(): Promise<void> {
    const report = await this.#connect().status();
    this.#report = report;
    this.#answeredAt = performance.now();
    this.draw();
  }

  /** Never resolves: ends with the person or with the resident. */
  async #ask(): Promise<never> {
    for (;;) {
      const report = await this.#connect().status();
      this.#report = report;
      this.#history.add(report.servers);
      this.#answeredAt = performance.now();
      this.draw();
      await wait(EVERY_MS, undefined, { signal: this.#stop.signal });
    }
  }

  /** A resident that does not answer stops the figures, not the screen. */
  async #keepTime(): Promise<never> {
    for (;;) {
      await wait(EVERY_MS, undefined, { signal: this.#stop.signal });
      if (performance.now() - this.#answeredAt > OLD_MS) this.draw();
    }
  }
}
